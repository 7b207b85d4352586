"""`mjolnir autoresearch init`: what it makes, what it refuses, and what a failure leaves, on the scripted target."""

from __future__ import annotations

import json

import pytest

from doubles.expectations import fails
from doubles.research import CONFIG, KERNEL
from mjolnir.config import parse_config

pytest_plugins = ("doubles.fixtures",)


def test_a_run_starts_with_its_branch_its_frozen_state_and_a_baseline(research):
    base = research.head()
    said = research.init()
    assert said.code == 0, said.err
    assert (research.branch(), research.head()) == ("autoresearch/oct11", base)
    (row,) = research.rows()
    assert (row["id"], row["status"], row["rule"], row["score"]) == (1, "baseline", "starting_kernel", 1.0)
    assert (row["commit_full"], row["run"], row["target"], row["attempt"]) == (base, "oct11", "scripted", 1)
    assert row["champion_id"] is None
    assert research.git("rev-parse", "refs/mjolnir/oct11/1") == base
    frozen = json.loads((research.root / ".git/mjolnir/oct11/run.json").read_text())
    assert frozen["config_hash"] == row["config_hash"] == parse_config(CONFIG).judging_hash()
    assert (frozen["rule"], frozen["min_gain"], frozen["kernel"]) == ("confirmed", 0.05, KERNEL)
    assert "mjolnir autoresearch evaluate" in said.out
    assert not research.inflight.exists()


def test_without_a_baseline_there_is_a_run_without_rows(research):
    research.machine(fault="not asked for a measurement")
    assert research.init("oct11", "--no-baseline").code == 2, "but the device must be there"
    research.machine()
    assert research.init("oct11", "--no-baseline").code == 0
    assert (research.branch(), research.rows()) == ("autoresearch/oct11", [])


def test_it_starts_from_a_named_base(research):
    research.git("switch", "-qc", "faster")
    commit = research.commit(speedup=1.5)
    research.git("switch", "-q", "main")
    assert research.init("oct11", "--base", "faster").code == 0
    assert research.head() == commit
    assert research.rows()[0]["score"] == pytest.approx(1.5)


def test_other_uncommitted_changes_survive(research):
    research.write("research/program.md", "edited\n")
    research.write("notes.txt", "untracked\n")
    research.write("staged.txt", "staged\n")
    research.git("add", "staged.txt")
    research.started()
    assert research.git("status", "--porcelain") == "M research/program.md\nA  staged.txt\n?? notes.txt"


def test_uncommitted_changes_survive_a_switch_to_another_base(research):
    research.git("switch", "-qc", "faster")
    research.commit(speedup=1.5)
    research.write("research/program.md", "edited\n")
    research.git("switch", "-q", "main")
    assert research.init("oct11", "--base", "faster").code == 0
    assert (research.root / "research/program.md").read_text() == "edited\n"


@pytest.mark.parametrize(
    ("outcome", "words"),
    [("incorrect", "correctness failed at needle"), ("crash", "boom"), ("E_STATE", "E_STATE")],
)
def test_a_wrong_baseline_is_exit_1_and_leaves_everything_as_it_was(research, outcome, words):
    research.commit(outcome=outcome)
    said = fails(research, 1)
    assert words in said.err
    research.commit()
    assert research.init().code == 0, "the tag is free again"


def test_an_environment_fault_is_exit_2_and_leaves_everything_as_it_was(research):
    research.machine(fault="no device answers")
    assert "no device answers" in fails(research, 2).err


def test_a_baseline_on_a_busy_machine_is_measured_again_then_refused_with_nothing_left(research):
    """Every later verdict would stand on it: with such reference times each experiment would look noisy."""
    research.machine(unsteady="other load took the CPU")
    said = fails(research, 2)
    assert said.err.count("measured again") == 2
    assert "not steady in 3 tries: other load took the CPU" in said.err


def test_a_failed_baseline_on_a_detached_head_stays_detached(research):
    research.commit(outcome="crash")
    research.git("switch", "-q", "--detach")
    fails(research, 1)


def test_a_detached_head_may_start_a_run(research):
    research.git("switch", "-q", "--detach")
    research.started()
    assert research.branch() == "autoresearch/oct11"


def test_writing_that_fails_half_way_is_taken_back(research, monkeypatch):
    """The disk is full when the ledger's first row is written."""
    from mjolnir.errors import Refused
    from mjolnir.store.ledger import Ledger

    def full(self, row):
        raise Refused("E_DISK_FULL", "no room to write the ledger", "free some space")

    monkeypatch.setattr(Ledger, "append", full)
    fails(research, 4)
    monkeypatch.undo()


@pytest.mark.parametrize(
    "tag", ["", " ", "a b", "../x", "a/b", ".hidden", "a..b", "x.lock", "-x", "a~b", "x" * 65, "a\nb"]
)
def test_a_tag_that_names_no_branch_or_folder_is_wrong_use(research, tag):
    before = research.state()
    said = research.call("autoresearch", "init", "--", tag)
    assert said.code == 2
    assert research.state() == before


@pytest.mark.parametrize("words", [("--rule", "luck"), ("--sandbox", "none")], ids=str)
def test_an_unknown_rule_or_sandbox_is_wrong_use(research, words):
    fails(research, 2, *words)


@pytest.mark.parametrize("target", ["thor", "nowhere"])
def test_a_target_that_is_not_here_is_exit_2(research, target):
    assert "no target named" in fails(research, 2, "--target", target).err


def test_the_target_may_be_named(research):
    research.write("mjolnir.toml", CONFIG.replace('target = "scripted"', 'target = "cpu"'))
    research.git("commit", "-qam", "cpu")
    research.started("oct11", "--target", "scripted")
    research.commit(speedup=1.2)
    assert research.evaluate().json["status"] == "keep"
