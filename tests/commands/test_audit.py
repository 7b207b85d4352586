"""`mjolnir autoresearch audit`: an honest run has no finding; whatever is changed by another hand is found."""

from __future__ import annotations

import json
import os
import subprocess

import pytest
from audit_forge import TAG
from reader_place import VERSION_0, make_place

pytest_plugins = ("audit_fixtures",)


@pytest.mark.parametrize("rule", ["confirmed", "seed"])
def test_an_honest_run_has_no_finding_under_either_rule(copy_of, rule, request):
    ended = copy_of(request.getfixturevalue(f"{rule}_run"))
    statuses = {row["status"] for row in ended.rows()}
    assert statuses == {"baseline", "keep", "discard", "crash", "invalid", "noisy"}
    assert ended.findings() == []
    said = ended.audit()
    assert (said.code, said.err) == (0, "")
    assert said.out == (
        f"the run oct11, {len(ended.rows())} rows: nothing found. Chain, copies, commits, documents and every verdict "
        "agree.\n"
    )


def test_a_finding_is_a_line_with_counts_and_a_verdict_after_it_and_two_lines_of_error(ended):
    ended.git("update-ref", "-d", f"refs/mjolnir/{TAG}/2")
    ended.git("update-ref", "-d", f"refs/mjolnir/{TAG}/3")
    said = ended.audit()
    assert said.code == 1
    first, second, counts, verdict = said.out.splitlines()
    assert first.startswith("E_PIN  row #2 is not pinned (refs/mjolnir/oct11/2)  (if the row is right: git update-ref ")
    assert second.startswith("E_PIN  row #3 ")
    assert counts == "found: 2 E_PIN"
    assert (
        verdict == f"the run oct11, {len(ended.rows())} rows: 2 findings. What these rows say cannot all be believed."
    )
    error, hint = said.err.splitlines()
    assert error.startswith("error: audit of oct11: row #2 is not pinned")
    assert error.endswith(", and 1 more")
    assert hint.startswith("hint: if the row is right: git update-ref refs/mjolnir/oct11/2 ")


def test_every_edited_row_is_named(ended):
    rows = ended.rows()
    for place in (1, 3):
        rows[place]["hypothesis"] = "another one"
    ended.write([json.dumps(row, separators=(",", ":")).encode() + b"\n" for row in rows])
    assert ended.codes() == {("E_LEDGER", 2), ("E_LEDGER", 4)}


def test_a_row_removed_from_the_middle_is_missed(ended):
    lines = ended.lines()
    ended.write(lines[:3] + lines[4:])
    found = ended.codes()
    assert ("E_LEDGER", 5) in found
    assert ("E_ANCHOR", None) in found
    assert ("E_PIN", 4) in found


def test_rows_cut_off_are_missed_even_from_both_copies(ended):
    ended.write(ended.lines()[:-2])
    assert {code for code, _ in ended.codes()} == {"E_ANCHOR", "E_PIN"}


def test_reordered_rows_are_found(ended):
    lines = ended.lines()
    ended.write([*lines[:2], lines[3], lines[2], *lines[4:]])
    assert {("E_LEDGER", 3), ("E_LEDGER", 4), ("E_LEDGER", 5)} <= ended.codes()


def test_a_row_that_stands_twice_is_found(ended):
    lines = ended.lines()
    ended.write([*lines[:3], lines[2], *lines[3:]])
    found = ended.findings()
    assert any(f["row"] == 3 and "stands after row #3" in f["message"] for f in found)


def test_a_chain_computed_anew_does_not_fit_the_anchor(ended):
    rows = ended.rows()
    rows[2]["hypothesis"] = "another one"
    ended.forge(rows, anchor=False)
    assert ended.codes() == {("E_ANCHOR", None)}


def test_a_row_appended_by_another_hand_is_not_vouched_for(ended):
    rows = ended.rows()
    ended.forge([*rows, rows[-1] | {"id": len(rows) + 1}], anchor=False)
    assert ("E_ANCHOR", None) in ended.codes()


def test_an_edited_mirror_is_found(ended):
    ended.mirror.write_bytes(ended.mirror.read_bytes().replace(b'"hypothesis":"an idea"', b'"hypothesis":"no idea"', 1))
    assert [(f["code"], f["row"]) for f in ended.findings()] == [("E_LEDGER", 2)]


def test_a_missing_mirror_and_a_missing_ledger_are_found_and_restored_by_any_command(ended):
    ended.mirror.unlink()
    assert [f["message"] for f in ended.findings()] == ["the ledger's mirror under the git directory is gone"]
    assert ended.research.call("autoresearch", "status").code == 0
    assert ended.findings() == []
    ended.ledger.unlink()
    assert {"E_LEDGER", "E_ANCHOR"} <= {code for code, _ in ended.codes()}
    assert ended.research.call("autoresearch", "status").code == 0
    assert ended.findings() == []


def test_a_removed_anchor_is_found_and_one_made_anew_does_not_hide_it(ended):
    ended.anchor.unlink()
    (finding,) = ended.findings()
    assert (finding["code"], finding["row"]) == ("E_ANCHOR", None)
    assert str(ended.anchor) in finding["message"]
    assert "moved or copied" in finding["hint"]
    ended.forge(ended.rows(), anchor=False)
    last = ended.rows()[-1]["hash"]
    ended.anchor.write_text(
        json.dumps({"rows": len(ended.rows()), "size_bytes": ended.ledger.stat().st_size, "last_hash": last})
    )
    assert [f["code"] for f in ended.findings()] == ["E_ANCHOR"]


def test_a_damaged_anchor_is_a_finding_and_no_end(ended):
    ended.anchor.write_text("{")
    assert ended.codes() == {("E_ANCHOR", None)}


def test_rows_of_another_run_are_found(ended):
    rows = ended.rows()
    rows[2]["run"] = "nov01"
    ended.forge(rows)
    assert any("belongs to another run, nov01" in f["message"] for f in ended.findings())


def test_text_of_others_is_shown_as_data(ended):
    rows = ended.rows()
    rows[2]["run"] = "x\x1b[31m[bold]y"
    ended.forge(rows)
    assert "\x1b" not in ended.audit().out


def test_a_damaged_line_does_not_hide_what_follows(ended):
    lines = ended.lines()
    lines[0] = b"\xff\xfe not JSON\n"
    lines[4] = lines[4].replace(b'"agent":""', b'"agent":"x"')
    ended.write(lines)
    found = ended.findings()
    assert found[0]["message"].startswith("line 1 is not a row")
    assert any(f["row"] == 5 and "does not match its own hash" in f["message"] for f in found)


def test_without_a_run_there_is_nothing_to_audit(mjolnir, tmp_path):
    place = make_place(tmp_path / "r")
    answer = mjolnir("autoresearch", "audit", "--json", cwd=place.root)
    assert answer.code == 4
    assert json.loads(answer.out)["error"]["code"] == "E_RUN"


def test_a_ledger_of_mjolnir_cli_0_2_0_is_judged_by_the_rule_of_its_time(mjolnir, tmp_path):
    place = make_place(tmp_path / "r")
    (place.root / "research").mkdir()
    ledger = place.root / "research" / "ledger.jsonl"
    ledger.write_bytes(VERSION_0.read_bytes())
    answer = mjolnir("autoresearch", "audit", cwd=place.root)
    assert answer.code == 0, answer.out
    assert "rows of version 0 hold no numbers: their verdicts were passed over" in answer.err
    ledger.write_bytes(VERSION_0.read_bytes().replace(b'"status": "discard"', b'"status": "keep"'))
    assert mjolnir("autoresearch", "audit").code == 1


def test_an_append_that_died_is_a_note_and_no_finding(ended):
    lines = ended.lines()
    last = json.loads(lines[-1])
    ended.write_anchor(
        rows=len(lines) - 1,
        size_bytes=sum(map(len, lines[:-1])),
        last_hash=json.loads(lines[-2])["hash"],
        pending=last["hash"],
    )
    ended.ledger.write_bytes(b"".join(lines[:-1]))
    ended.git("update-ref", "-d", f"refs/mjolnir/{TAG}/{last['id']}")
    said = ended.audit()
    assert (said.code, said.err.count("note: ")) == (0, 1), said.out


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_a_repository_that_cannot_be_written_is_audited(ended):
    subprocess.run(["chmod", "-R", "a-w", ended.root], check=True)
    try:
        assert ended.findings() == []
    finally:
        subprocess.run(["chmod", "-R", "u+w", ended.root], check=True)
