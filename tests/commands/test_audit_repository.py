"""What an audit asks of the repository: refs, commits, kernels, the frozen configuration, the run documents."""

from __future__ import annotations

import json
import shutil

import pytest
from audit_forge import TAG

pytest_plugins = ("audit_fixtures",)


def test_moved_missing_and_further_refs_are_found(ended):
    rows = ended.rows()
    ended.git("update-ref", f"refs/mjolnir/{TAG}/1", rows[1]["commit_full"])
    ended.git("update-ref", "-d", f"refs/mjolnir/{TAG}/2")
    ended.git("update-ref", f"refs/mjolnir/{TAG}/99", rows[1]["commit_full"])
    assert ended.codes() == {("E_PIN", 1), ("E_PIN", 2), ("E_PIN", 99)}


def test_a_commit_that_is_gone_is_found(ended):
    gone = ended.rows()[ended.row("crash")]
    ended.git("update-ref", "-d", f"refs/mjolnir/{TAG}/{gone['id']}")
    ended.git("reflog", "expire", "--expire=now", "--all")
    ended.git("gc", "-q", "--prune=now")
    found = ended.codes()
    assert found == {("E_PIN", gone["id"]), ("E_OBJECTS", gone["id"])}


def test_another_kernel_than_the_commit_has_is_found(ended):
    rows = ended.rows()
    place = ended.row("discard", "incorrect")
    rows[place]["kernel_blob"] = rows[0]["kernel_blob"]
    ended.forge(rows)
    assert ended.codes() == {("E_OBJECTS", place + 1)}


@pytest.mark.parametrize("parent", [0, None])
def test_another_parent_than_the_commit_has_is_found(ended, parent):
    rows = ended.rows()
    place = ended.row("discard", "not_confirmed")
    assert rows[place]["parent_full"] not in (None, rows[parent or 0]["commit_full"])
    rows[place]["parent_full"] = None if parent is None else rows[parent]["commit_full"]
    ended.forge(rows)
    (found,) = ended.findings()
    assert (found["code"], found["row"]) == ("E_OBJECTS", place + 1)
    assert "names the parent" in found["message"]


@pytest.mark.parametrize("stage", ["correctness", "sweep", "confirm"])
@pytest.mark.parametrize("is_removed", [True, False])
def test_numbers_without_a_run_document_are_found(ended, stage, is_removed):
    rows = ended.rows()
    place = ended.row("keep")
    if is_removed:
        del rows[place]["verify_runs"][stage]
    else:
        rows[place]["verify_runs"][stage] = None
    ended.forge(rows)
    assert ended.codes() == {("E_DOCUMENT", place + 1)}


def test_a_commit_that_a_row_names_and_nobody_has_is_told_by_its_part(ended):
    rows = ended.rows()
    place = ended.row("discard", "incorrect")
    rows[place]["parent_full"] = "1" * 40
    ended.forge(rows)
    (found,) = ended.findings()
    assert f"row #{place + 1} names a parent that is not in this repository: '111111111111'" in found["message"]


def test_another_program_than_the_kernel_of_a_keep_is_found(ended):
    rows = ended.rows()
    place = ended.row("keep")
    rows[place]["program_hash"] = "0" * 64
    ended.forge(rows)
    assert ended.codes() == {("E_VERDICT", place + 1)}


def test_replace_refs_and_grafts_are_found(ended):
    ended.git("replace", ended.rows()[1]["commit_full"], ended.rows()[0]["commit_full"])
    assert ended.codes() == {("E_GIT_REPLACE", None)}
    ended.git("replace", "-d", ended.rows()[1]["commit_full"])
    (ended.root / ".git/info").mkdir(exist_ok=True)
    (ended.root / ".git/info/grafts").write_text(f"{ended.rows()[1]['commit_full']}\n")
    assert ended.codes() == {("E_GIT_REPLACE", None)}


def test_rows_of_another_harness_or_configuration_are_found(ended):
    rows = ended.rows()
    rows[2]["harness_hash"] = "0" * 64
    rows[3]["config_hash"] = "0" * 64
    ended.forge(rows)
    assert ended.codes() == {("E_HARNESS", 3), ("E_CONFIG", 4)}


def test_another_installed_harness_is_found(ended, monkeypatch):
    monkeypatch.setattr("mjolnir.loop.audit_frozen.harness_hash", lambda: "f" * 64)
    assert ended.codes() == {("E_HARNESS", None)}


@pytest.mark.parametrize(
    "edit",
    [
        lambda state: state["config"]["run"].update(plateau=99),
        lambda state: state.update(min_gain=0.0001),
        lambda state: state.update(kernel="src/other.py"),
    ],
    ids=["configuration", "least gain", "kernel"],
)
def test_an_edited_frozen_configuration_is_found(ended, edit):
    state = json.loads(ended.run_json.read_text())
    edit(state)
    ended.run_json.write_text(json.dumps(state))
    assert ("E_CONFIG", None) in ended.codes()


def test_a_damaged_and_a_missing_run_json_are_found(ended):
    ended.run_json.write_text("{")
    assert ("E_CONFIG", None) in ended.codes()
    ended.run_json.unlink()
    assert ("E_RUN", None) in ended.codes()


def test_a_missing_and_an_empty_run_document_are_found(ended):
    documents = sorted((ended.root / "research/verify/sweep").glob("*.json"))
    documents[1].unlink()
    documents[2].write_bytes(b"")
    found = ended.findings()
    assert [f["code"] for f in found] == ["E_DOCUMENT", "E_DOCUMENT"]
    assert documents[1].stem in found[0]["message"]
    shutil.rmtree(ended.root / "research/verify/correctness")
    assert ("E_DOCUMENT", None) in ended.codes()
