"""The ledger deleted, cut, edited, reordered, doubled or added to: the old rows are back, or `evaluate` is refused."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from pathlib import Path

import pytest

pytest_plugins = ("doubles.fixtures",)


@pytest.fixture
def scored(lab):
    """A run with a baseline, a discard, a keep and a discard, at its champion, with one more commit to measure."""
    for speedup in (1.01, 1.2, 1.19):
        lab.commit(speedup=speedup)
        assert lab.evaluate("an idea", "--apply").code == 0
    assert [row["status"] for row in lab.rows()] == ["baseline", "discard", "keep", "discard"]
    lab.commit(speedup=1.5)
    return lab


def copies(lab, which):
    """The files of a run's rows: in the work tree, or with the mirror under the git directory too."""
    return [lab.ledger] if which == "ledger" else [lab.ledger, lab.root / ".git/mjolnir/oct11/ledger.jsonl"]


def rechained(lines):
    """The same rows with every hash worked out anew, as the design publishes it: a forger can do that too."""
    prev, out = None, []
    for line in lines:
        row = {**json.loads(line), "prev": prev}
        row.pop("hash")
        text = json.dumps(row, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
        prev = row["hash"] = hashlib.sha256(text.encode()).hexdigest()
        out.append(json.dumps(row))
    return out


def edited(lines, place, **values):
    return [json.dumps({**json.loads(line), **values}) if n == place else line for n, line in enumerate(lines)]


def without_bad_rows(lines):
    return [line for line in lines if json.loads(line)["status"] != "discard"]


def forged_keep(lines):
    last = json.loads(lines[-1])
    return [*lines, json.dumps({**last, "id": 5, "status": "keep", "score": 9.0, "prev": last["hash"]})]


ATTACKS = {
    "deleted": lambda lines: [],
    "bad rows deleted": without_bad_rows,
    "bad rows deleted, rechained": lambda lines: rechained(without_bad_rows(lines)),
    "bad rows deleted, renumbered, rechained": lambda lines: rechained(
        [json.dumps({**json.loads(x), "id": n}) for n, x in enumerate(without_bad_rows(lines), 1)]
    ),
    "truncated": lambda lines: lines[:2],
    "truncated within a line": lambda lines: [*lines[:3], lines[3][:100]],
    "first row cut off": lambda lines: lines[1:],
    "middle row edited": lambda lines: edited(lines, 2, score=1.0),
    "middle row edited, rechained": lambda lines: rechained(edited(lines, 2, score=1.0)),
    "last row edited": lambda lines: edited(lines, 3, status="keep"),
    "last row edited, rechained": lambda lines: rechained(edited(lines, 3, status="keep")),
    "reordered": lambda lines: [lines[0], lines[2], lines[1], lines[3]],
    "reordered, rechained": lambda lines: rechained([lines[0], lines[2], lines[1], lines[3]]),
    "last two swapped": lambda lines: [*lines[:2], lines[3], lines[2]],
    "id doubled": lambda lines: edited(lines, 2, id=2),
    "id doubled, rechained": lambda lines: rechained(edited(lines, 2, id=2)),
    "row doubled": lambda lines: [*lines[:3], lines[2], lines[3]],
    "last row doubled": lambda lines: [*lines, lines[3]],
    "keep forged": forged_keep,
    "keep forged, rechained": lambda lines: rechained(forged_keep(lines)),
    "hash removed": lambda lines: [
        json.dumps({k: v for k, v in json.loads(x).items() if k not in ("hash", "prev", "schema")}) for x in lines
    ],
}


@pytest.mark.parametrize("which", ["ledger", "ledger and mirror"])
def test_no_attack_on_the_rows_goes_unnoticed(scored, tmp_path, which):
    old = scored.ledger.read_text().splitlines()
    unnoticed = {}
    for name, said, now in attacked(scored, tmp_path, ATTACKS, which):
        problem = answer_to_refusal(said) if said.code == 4 else answer_to_restoring(said, old, now)
        if problem:
            unnoticed[name] = problem
    assert unnoticed == {}


def test_rows_that_do_not_chain_show_without_mirror_and_anchor_too(scored, tmp_path):
    whole = ("deleted", "truncated", "hash removed")
    names = [name for name in ATTACKS if "rechained" not in name and name not in whole]
    said = {name: said for name, said, _ in attacked(scored, tmp_path, names, "all")}
    assert {name: one.err for name, one in said.items() if one.code != 4} == {}
    codes = {name: one.json["error"]["code"] for name, one in said.items()}
    assert codes.pop("id doubled") in ("E_LEDGER", "E_LINEAGE"), "the champion's row is hidden behind another"
    assert set(codes.values()) == {"E_LEDGER"}


def test_fewer_rows_than_pinned_commits_show_without_mirror_and_anchor_too(scored, tmp_path):
    names = ("deleted", "truncated", "bad rows deleted, renumbered, rechained")
    for name, said, _ in attacked(scored, tmp_path, names, "all"):
        assert (said.code, said.json["error"]["code"]) == (4, "E_LEDGER"), name
        assert "refs/mjolnir/oct11" in said.json["error"]["message"], name


def attacked(lab, tmp_path, names, which):
    """For each attack: its name, what `evaluate` says after it, and the ledger's lines then. All begin alike."""
    state = Path(os.environ["XDG_STATE_HOME"])
    places = {lab.root: tmp_path / "saved lab", state: tmp_path / "saved state"}
    for place, saved in places.items():
        shutil.copytree(place, saved, symlinks=True)
    old = lab.ledger.read_text().splitlines()
    for name in names:
        for path in copies(lab, which):
            path.write_text("".join(f"{line}\n" for line in ATTACKS[name](old)))
        if which == "all":
            for anchor in state.glob("mjolnir/*.json"):
                anchor.unlink()
        said = lab.evaluate()
        yield name, said, lab.ledger.read_text().splitlines()
        os.chdir(tmp_path)
        for place, saved in places.items():
            shutil.rmtree(place)
            shutil.copytree(saved, place, symlinks=True)


def answer_to_refusal(said):
    """Empty when the refusal is the right one."""
    error = said.json["error"]
    return "" if error["code"] == "E_LEDGER" and error["hint"] else f"{error}"


def answer_to_restoring(said, old, now):
    """Empty when the old rows are back, the new one is judged against the right champion, and the user is told."""
    if said.code != 0:
        return said.err
    if now[: len(old)] != old or len(now) != len(old) + 1:
        return "the old rows are not back"
    if json.loads(now[-1])["champion_id"] != 3:
        return "judged against another champion"
    return "" if "ledger" in said.err else "nothing is said of it"


def test_a_refused_ledger_is_refused_by_what_reads_it_too(scored):
    lines = scored.ledger.read_text().splitlines()
    for path in copies(scored, "ledger and mirror"):
        path.write_text("".join(f"{line}\n" for line in ATTACKS["middle row edited, rechained"](lines)))
    said = scored.call("autoresearch", "status", "--json")
    assert said.json["chain"]["ok"] is False


def test_what_lies_in_the_work_tree_is_no_measurement(lab):
    lab.commit(speedup=1.01)
    document = {"summary": {"score": 99.0}, "series": [], "cases": []}
    lab.write("research/verify/sweep/forged.json", json.dumps(document))
    lab.write(
        "research/.inflight.json",
        json.dumps({"pid": 2**22 + 1, "commit": lab.head(), "stage": "sweep", "status": "keep", "score": 99.0}),
    )
    answer = lab.evaluate().json
    assert (answer["status"], answer["score"]) == ("discard", 1.01)
    assert not lab.inflight.exists()
