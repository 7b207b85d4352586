"""What `evaluate` refuses: odd kernels, edited configurations, another harness, a ledger that was touched."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from doubles.expectations import refused
from doubles.research import CONFIG, KERNEL, kernel_text

pytest_plugins = ("doubles.fixtures",)


def test_replace_refs_are_refused(lab):
    first = lab.head()
    second = lab.commit(speedup=1.2)
    lab.git("replace", second, first)
    refused(lab, "E_GIT_REPLACE")


@pytest.mark.parametrize("line", ["import socket", "from os import path", "import helper", "import numpy.ctypeslib"])
def test_an_import_outside_the_allow_list_is_refused_with_its_line(lab, line):
    lab.commit(f"import math\n{line}\n" + kernel_text(speedup=1.2))
    assert "line 2" in refused(lab, "E_IMPORT")["error"]["message"]


def test_a_symbolic_link_is_no_kernel(lab):
    lab.write("src/other.py", kernel_text(speedup=2.0))
    (lab.root / KERNEL).unlink()
    (lab.root / KERNEL).symlink_to("other.py")
    lab.git("add", KERNEL)
    lab.git("commit", "-qm", "link")
    refused(lab, "E_NOT_REGULAR")


def test_an_executable_kernel_is_refused(lab):
    (lab.root / KERNEL).chmod(0o755)
    lab.git("commit", "-qam", "executable")
    refused(lab, "E_NOT_REGULAR")


def test_a_kernel_that_is_gone_from_the_commit_is_refused(lab):
    lab.git("rm", "-q", KERNEL)
    lab.git("commit", "-qm", "gone")
    refused(lab, "E_NOT_REGULAR")


def test_a_kernel_of_ten_megabytes_is_refused(lab):
    lab.commit(kernel_text(speedup=1.2) + "#" * 10_000_000)
    refused(lab, "E_NOT_REGULAR")


@pytest.mark.parametrize(
    "words",
    [("--min-gain", "0.001"), ("--ls", "256"), ("--target", "cpu"), ("--iters", "1")],
    ids=lambda words: words[0],
)
def test_a_laxer_option_is_refused(lab, words):
    lab.commit(speedup=1.2)
    refused(lab, "E_CONFIG", *words)


def test_an_edited_configuration_is_refused(lab):
    lab.write("mjolnir.toml", CONFIG.replace("0.05", "0.0"))
    lab.commit(speedup=1.2)
    answer = refused(lab, "E_CONFIG")
    assert "mjolnir autoresearch init" in answer["error"]["hint"]


def test_a_committed_configuration_is_refused(lab):
    lab.write("mjolnir.toml", CONFIG.replace("0.05", "0.0"))
    lab.git("commit", "-qam", "laxer")
    lab.commit(speedup=1.2)
    refused(lab, "E_CONFIG")


def test_a_committed_comment_in_the_configuration_is_refused_as_another_file(lab):
    lab.write("mjolnir.toml", CONFIG + "# a comment\n")
    lab.git("commit", "-qam", "comment")
    lab.commit(speedup=1.2)
    refused(lab, "E_OTHER_FILES")


def test_hooks_and_comments_in_the_work_trees_configuration_decide_nothing(lab):
    lab.write("mjolnir.toml", CONFIG + '# a comment\n[hooks]\non_keep = "true"\n')
    lab.commit(speedup=1.2)
    assert lab.evaluate().json["status"] == "keep"


def test_an_unreadable_configuration_is_exit_2(lab):
    lab.write("mjolnir.toml", "[run\n")
    lab.commit(speedup=1.2)
    said = lab.evaluate()
    assert (said.code, said.json["error"]["code"]) == (2, "E_CONFIG")


def test_an_edited_frozen_configuration_is_refused(lab):
    path = lab.root / ".git/mjolnir/oct11/run.json"
    state = json.loads(path.read_text())
    path.write_text(json.dumps(state | {"min_gain": 0.0, "kernel": "research/program.md"}))
    lab.commit(speedup=1.2)
    refused(lab, "E_CONFIG")


def test_another_harness_is_refused(lab, monkeypatch):
    lab.commit(speedup=1.2)
    monkeypatch.setattr("mjolnir.loop.guard.harness_hash", lambda: "0" * 64)
    assert "start a new run" in refused(lab, "E_HARNESS")["error"]["hint"]


def test_an_edited_row_is_refused(lab):
    lab.commit(speedup=1.2)
    lab.evaluate()
    lab.ledger.write_text(lab.ledger.read_text().replace('"score":1.2', '"score":1.1'))
    lab.commit(speedup=1.4)
    refused(lab, "E_LEDGER")


def test_an_edit_in_the_middle_of_the_chain_is_found_before_measuring(lab):
    for speedup in (1.01, 1.02, 1.03):
        lab.commit(speedup=speedup)
        lab.evaluate("idea", "--apply")
    mirror = lab.root / ".git/mjolnir/oct11/ledger.jsonl"
    forged = lab.ledger.read_text().replace('"score":1.02', '"score":1.00')
    assert forged != lab.ledger.read_text()
    lab.ledger.write_text(forged)
    mirror.write_text(forged)
    lab.commit(speedup=1.4)
    refused(lab, "E_LEDGER")


def test_a_removed_row_is_restored_or_refused(lab):
    lab.commit(speedup=1.01)
    lab.evaluate("idea", "--apply")
    lines = lab.ledger.read_text().splitlines(keepends=True)
    lab.ledger.write_text(lines[0])
    lab.commit(speedup=1.4)
    said = lab.evaluate()
    assert said.code == 0
    assert [row["id"] for row in lab.rows()] == [1, 2, 3]
    assert "mirror" in said.err


def test_rows_removed_with_mirror_and_anchor_are_missed_by_their_pinned_commits(lab):
    lab.commit(speedup=1.01)
    lab.evaluate("idea", "--apply")
    first = lab.ledger.read_text().splitlines(keepends=True)[0]
    lab.ledger.write_text(first)
    (lab.root / ".git/mjolnir/oct11/ledger.jsonl").write_text(first)
    for anchor in Path(os.environ["XDG_STATE_HOME"], "mjolnir").glob("*.json"):
        anchor.unlink()
    lab.commit(speedup=1.4)
    said = refused(lab, "E_LEDGER")
    assert "refs/mjolnir/oct11/2" in said["error"]["message"]


def test_a_refused_same_program_measures_nothing(lab):
    lab.commit(speedup=1.01)
    lab.evaluate()
    documents = sorted((lab.root / "research/verify").rglob("*.json"))
    lab.machine(fault="the device would have been asked")
    refused(lab, "E_SAME_PROGRAM")
    assert sorted((lab.root / "research/verify").rglob("*.json")) == documents
