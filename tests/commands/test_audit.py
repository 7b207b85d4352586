"""`mjolnir autoresearch audit`: an honest run has no finding; whatever is changed by another hand is found."""

from __future__ import annotations

import json
import os
import shutil
import subprocess

import pytest
from audit_forge import TAG
from reader_place import VERSION_0, make_place

pytest_plugins = ("audit_fixtures",)


@pytest.mark.parametrize("rule", ["confirmed", "seed"])
def test_an_honest_run_has_no_finding_under_either_rule(copy_of, rule, request):
    lab = copy_of(request.getfixturevalue(f"{rule}_run"))
    statuses = {row["status"] for row in lab.rows()}
    assert statuses == {"baseline", "keep", "discard", "crash", "invalid", "noisy"}
    assert lab.findings() == []
    said = lab.audit()
    assert (said.code, said.err) == (0, "")
    assert said.out == (
        f"the run oct11, {len(lab.rows())} rows: nothing found. Chain, copies, commits, documents and every verdict "
        "agree.\n"
    )


def test_a_finding_is_a_line_with_counts_and_a_verdict_after_it_and_two_lines_of_error(lab):
    lab.git("update-ref", "-d", f"refs/mjolnir/{TAG}/2")
    lab.git("update-ref", "-d", f"refs/mjolnir/{TAG}/3")
    said = lab.audit()
    assert said.code == 1
    first, second, counts, verdict = said.out.splitlines()
    assert first.startswith("E_PIN  row #2 is not pinned (refs/mjolnir/oct11/2)  (if the row is right: git update-ref ")
    assert second.startswith("E_PIN  row #3 ")
    assert counts == "found: 2 E_PIN"
    assert verdict == f"the run oct11, {len(lab.rows())} rows: 2 findings. What these rows say cannot all be believed."
    error, hint = said.err.splitlines()
    assert error.startswith("error: audit of oct11: row #2 is not pinned")
    assert error.endswith(", and 1 more")
    assert hint.startswith("hint: if the row is right: git update-ref refs/mjolnir/oct11/2 ")


def test_every_edited_row_is_named(lab):
    rows = lab.rows()
    for place in (1, 3):
        rows[place]["hypothesis"] = "another one"
    lab.write([json.dumps(row, separators=(",", ":")).encode() + b"\n" for row in rows])
    assert lab.codes() == {("E_LEDGER", 2), ("E_LEDGER", 4)}


def test_a_row_removed_from_the_middle_is_missed(lab):
    lines = lab.lines()
    lab.write(lines[:3] + lines[4:])
    found = lab.codes()
    assert ("E_LEDGER", 5) in found
    assert ("E_ANCHOR", None) in found
    assert ("E_PIN", 4) in found


def test_rows_cut_off_are_missed_even_from_both_copies(lab):
    lab.write(lab.lines()[:-2])
    assert {code for code, _ in lab.codes()} == {"E_ANCHOR", "E_PIN"}


def test_reordered_rows_are_found(lab):
    lines = lab.lines()
    lab.write([*lines[:2], lines[3], lines[2], *lines[4:]])
    assert {("E_LEDGER", 3), ("E_LEDGER", 4), ("E_LEDGER", 5)} <= lab.codes()


def test_a_row_that_stands_twice_is_found(lab):
    lines = lab.lines()
    lab.write([*lines[:3], lines[2], *lines[3:]])
    found = lab.findings()
    assert any(f["row"] == 3 and "stands after row #3" in f["message"] for f in found)


def test_a_chain_computed_anew_does_not_fit_the_anchor(lab):
    rows = lab.rows()
    rows[2]["hypothesis"] = "another one"
    lab.forge(rows, anchor=False)
    assert lab.codes() == {("E_ANCHOR", None)}


def test_a_row_appended_by_another_hand_is_not_vouched_for(lab):
    rows = lab.rows()
    lab.forge([*rows, rows[-1] | {"id": len(rows) + 1}], anchor=False)
    assert ("E_ANCHOR", None) in lab.codes()


def test_an_edited_mirror_is_found(lab):
    lab.mirror.write_bytes(lab.mirror.read_bytes().replace(b'"hypothesis":"an idea"', b'"hypothesis":"no idea"', 1))
    assert [(f["code"], f["row"]) for f in lab.findings()] == [("E_LEDGER", 2)]


def test_a_missing_mirror_and_a_missing_ledger_are_found_and_restored_by_any_command(lab):
    lab.mirror.unlink()
    assert [f["message"] for f in lab.findings()] == ["the ledger's mirror under the git directory is gone"]
    assert lab.research.call("autoresearch", "status").code == 0
    assert lab.findings() == []
    lab.ledger.unlink()
    assert {"E_LEDGER", "E_ANCHOR"} <= {code for code, _ in lab.codes()}
    assert lab.research.call("autoresearch", "status").code == 0
    assert lab.findings() == []


def test_a_removed_anchor_is_found_and_one_made_anew_does_not_hide_it(lab):
    lab.anchor.unlink()
    (finding,) = lab.findings()
    assert (finding["code"], finding["row"]) == ("E_ANCHOR", None)
    assert str(lab.anchor) in finding["message"]
    assert "moved or copied" in finding["hint"]
    lab.forge(lab.rows(), anchor=False)
    last = lab.rows()[-1]["hash"]
    lab.anchor.write_text(
        json.dumps({"rows": len(lab.rows()), "size_bytes": lab.ledger.stat().st_size, "last_hash": last})
    )
    assert [f["code"] for f in lab.findings()] == ["E_ANCHOR"]


def test_a_damaged_anchor_is_a_finding_and_no_end(lab):
    lab.anchor.write_text("{")
    assert lab.codes() == {("E_ANCHOR", None)}


def test_moved_missing_and_further_refs_are_found(lab):
    rows = lab.rows()
    lab.git("update-ref", f"refs/mjolnir/{TAG}/1", rows[1]["commit_full"])
    lab.git("update-ref", "-d", f"refs/mjolnir/{TAG}/2")
    lab.git("update-ref", f"refs/mjolnir/{TAG}/99", rows[1]["commit_full"])
    assert lab.codes() == {("E_PIN", 1), ("E_PIN", 2), ("E_PIN", 99)}


def test_a_commit_that_is_gone_is_found(lab):
    gone = lab.rows()[lab.row("crash")]
    lab.git("update-ref", "-d", f"refs/mjolnir/{TAG}/{gone['id']}")
    lab.git("reflog", "expire", "--expire=now", "--all")
    lab.git("gc", "-q", "--prune=now")
    found = lab.codes()
    assert found == {("E_PIN", gone["id"]), ("E_OBJECTS", gone["id"])}


def test_another_kernel_than_the_commit_has_is_found(lab):
    rows = lab.rows()
    place = lab.row("discard", "incorrect")
    rows[place]["kernel_blob"] = rows[0]["kernel_blob"]
    lab.forge(rows)
    assert lab.codes() == {("E_OBJECTS", place + 1)}


def test_another_program_than_the_kernel_of_a_keep_is_found(lab):
    rows = lab.rows()
    place = lab.row("keep")
    rows[place]["program_hash"] = "0" * 64
    lab.forge(rows)
    assert lab.codes() == {("E_VERDICT", place + 1)}


def test_replace_refs_and_grafts_are_found(lab):
    lab.git("replace", lab.rows()[1]["commit_full"], lab.rows()[0]["commit_full"])
    assert lab.codes() == {("E_GIT_REPLACE", None)}
    lab.git("replace", "-d", lab.rows()[1]["commit_full"])
    (lab.root / ".git/info").mkdir(exist_ok=True)
    (lab.root / ".git/info/grafts").write_text(f"{lab.rows()[1]['commit_full']}\n")
    assert lab.codes() == {("E_GIT_REPLACE", None)}


def test_rows_of_another_harness_or_configuration_are_found(lab):
    rows = lab.rows()
    rows[2]["harness_hash"] = "0" * 64
    rows[3]["config_hash"] = "0" * 64
    lab.forge(rows)
    assert lab.codes() == {("E_HARNESS", 3), ("E_CONFIG", 4)}


def test_another_installed_harness_is_found(lab, monkeypatch):
    monkeypatch.setattr("mjolnir.loop.audit_frozen.harness_hash", lambda: "f" * 64)
    assert lab.codes() == {("E_HARNESS", None)}


@pytest.mark.parametrize(
    "edit",
    [
        lambda state: state["config"]["run"].update(plateau=99),
        lambda state: state.update(min_gain=0.0001),
        lambda state: state.update(kernel="src/other.py"),
    ],
    ids=["configuration", "least gain", "kernel"],
)
def test_an_edited_frozen_configuration_is_found(lab, edit):
    state = json.loads(lab.run_json.read_text())
    edit(state)
    lab.run_json.write_text(json.dumps(state))
    assert ("E_CONFIG", None) in lab.codes()


def test_a_damaged_and_a_missing_run_json_are_found(lab):
    lab.run_json.write_text("{")
    assert ("E_CONFIG", None) in lab.codes()
    lab.run_json.unlink()
    assert ("E_RUN", None) in lab.codes()


def test_a_missing_and_an_empty_run_document_are_found(lab):
    documents = sorted((lab.root / "research/verify/sweep").glob("*.json"))
    documents[1].unlink()
    documents[2].write_bytes(b"")
    found = lab.findings()
    assert [f["code"] for f in found] == ["E_DOCUMENT", "E_DOCUMENT"]
    assert documents[1].stem in found[0]["message"]
    shutil.rmtree(lab.root / "research/verify/correctness")
    assert ("E_DOCUMENT", None) in lab.codes()


def test_rows_of_another_run_are_found(lab):
    rows = lab.rows()
    rows[2]["run"] = "nov01"
    lab.forge(rows)
    assert any("belongs to another run, nov01" in f["message"] for f in lab.findings())


def test_text_of_others_is_shown_as_data(lab):
    rows = lab.rows()
    rows[2]["run"] = "x\x1b[31m[bold]y"
    lab.forge(rows)
    assert "\x1b" not in lab.audit().out


def test_a_damaged_line_does_not_hide_what_follows(lab):
    lines = lab.lines()
    lines[0] = b"\xff\xfe not JSON\n"
    lines[4] = lines[4].replace(b'"agent":""', b'"agent":"x"')
    lab.write(lines)
    found = lab.findings()
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


def test_an_append_that_died_is_a_note_and_no_finding(lab):
    lines = lab.lines()
    last = json.loads(lines[-1])
    lab.write_anchor(
        rows=len(lines) - 1,
        size_bytes=sum(map(len, lines[:-1])),
        last_hash=json.loads(lines[-2])["hash"],
        pending=last["hash"],
    )
    lab.ledger.write_bytes(b"".join(lines[:-1]))
    lab.git("update-ref", "-d", f"refs/mjolnir/{TAG}/{last['id']}")
    said = lab.audit()
    assert (said.code, said.err.count("note: ")) == (0, 1), said.out


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_a_repository_that_cannot_be_written_is_audited(lab):
    subprocess.run(["chmod", "-R", "a-w", lab.root], check=True)
    try:
        assert lab.findings() == []
    finally:
        subprocess.run(["chmod", "-R", "u+w", lab.root], check=True)
