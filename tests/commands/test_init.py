"""`mjolnir autoresearch init`: what it makes, what it refuses, and what a failure leaves, on the scripted target."""

from __future__ import annotations

import json
import os
import shutil
import subprocess

import pytest

from doubles.research import CONFIG, KERNEL, Research, kernel_text
from mjolnir.config import parse_config

pytest_plugins = ("doubles.fixtures",)


def fails(research, exit_code, *words, tag="oct11"):
    """init must fail and leave everything as it was. Returns what it said."""
    before = research.state()
    said = research.init(tag, *words)
    assert said.code == exit_code, said.err
    assert said.err.count("error: ") == 1
    assert said.err.splitlines()[-1].startswith("hint: ")
    assert said.out == ""
    assert research.state() == before
    assert not research.inflight.exists()
    return said


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
    assert (frozen["rule"], frozen["min_gain"], frozen["kernel"]) == ("seed", 0.05, KERNEL)
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


def test_a_baseline_on_a_busy_machine_is_measured_again_then_taken_with_a_note(research):
    research.machine(unsteady="other load took the CPU")
    said = research.init()
    assert (said.code, said.err.count("not steady")) == (0, 2)
    (row,) = research.rows()
    assert (row["status"], row["rule"]) == ("baseline", "starting_kernel")
    assert any("other load took the CPU" in note for note in row["notes"])


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


@pytest.mark.parametrize("words", [("--rule", "luck"), ("--sandbox", "none"), ("--rule", "confirmed")], ids=str)
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


def test_a_repository_without_commits_is_refused(tmp_path, research, mjolnir):
    empty = Research(tmp_path / "empty", mjolnir).start_repository(commit=False)
    said = empty.init()
    assert (said.code, "no commit" in said.err) == (4, True)


def test_a_repository_without_main_names_the_branches_it_has(tmp_path, research, mjolnir):
    lab = Research(tmp_path / "trunk", mjolnir).start_repository(branch="trunk")
    assert "--base trunk" in fails(lab, 4).err
    assert lab.init("oct11", "--base", "trunk").code == 0


def test_outside_a_repository_it_is_refused(tmp_path, research, mjolnir):
    (tmp_path / "plain").mkdir()
    answer = mjolnir("autoresearch", "init", "oct11", cwd=tmp_path / "plain")
    assert (answer.code, "mjolnir new" in answer.err) == (4, True)


def test_an_existing_branch_is_refused(research):
    research.git("branch", "autoresearch/oct11")
    assert "git switch autoresearch/oct11" in fails(research, 4).err


def test_a_tag_is_never_used_again(research):
    research.started()
    research.git("switch", "-q", "main")
    research.git("branch", "-qD", "autoresearch/oct11")
    research.ledger.unlink()
    fails(research, 4)


def test_the_ledger_of_another_run_is_refused_until_it_is_exported(research):
    research.started("first")
    research.git("switch", "-q", "main")
    said = fails(research, 4, tag="second")
    assert "mjolnir autoresearch export --tag first" in said.err
    assert research.call("autoresearch", "export", "--tag", "first").code == 0
    research.ledger.unlink()
    assert research.init("second").code == 0
    assert [row["run"] for row in research.rows()] == ["second"]


@pytest.mark.parametrize("is_staged", [False, True])
def test_a_dirty_kernel_is_refused(research, is_staged):
    research.write(KERNEL, kernel_text(speedup=2.0))
    if is_staged:
        research.git("add", KERNEL)
    fails(research, 4)


def test_a_change_in_the_way_of_the_base_is_refused_before_measuring(research):
    research.git("switch", "-qc", "other")
    research.write("research/program.md", "other programme\n")
    research.write("new.txt", "of the base\n")
    research.git("add", "-A")
    research.git("commit", "-qm", "other")
    research.git("switch", "-q", "main")
    research.machine(fault="the device would have been asked")
    research.write("research/program.md", "edited\n")
    assert "research/program.md" in fails(research, 4, "--base", "other").err
    research.git("checkout", "-q", "--", "research/program.md")
    research.write("new.txt", "mine\n")
    assert "new.txt" in fails(research, 4, "--base", "other").err


def test_a_stale_index_lock_is_refused_before_measuring(research):
    research.machine(fault="the device would have been asked")
    lock = research.root / ".git/index.lock"
    lock.touch()
    said = research.init()
    assert (said.code, f"rm '{lock}'" in said.err) == (4, True)
    lock.unlink()
    research.machine()
    research.started()


def test_replace_refs_are_refused(research):
    first = research.head()
    second = research.commit(speedup=1.1)
    research.git("replace", second, first)
    said = research.init()
    assert (said.code, "replace" in said.err) == (4, True)


def test_a_kernel_that_is_no_regular_file_is_refused(research):
    research.git("rm", "-q", KERNEL)
    (research.root / "src").mkdir(exist_ok=True)
    (research.root / KERNEL).symlink_to("../mjolnir.toml")
    research.git("add", KERNEL)
    research.git("commit", "-qm", "link")
    fails(research, 4)


def test_a_missing_kernel_is_refused(research):
    research.git("rm", "-q", KERNEL)
    research.git("commit", "-qm", "gone")
    fails(research, 4)


def test_a_forbidden_import_in_the_starting_kernel_is_refused(research):
    research.commit("import socket\n" + kernel_text())
    assert "line 1" in fails(research, 4).err


def test_uncommitted_judging_values_are_refused_and_others_are_not(research):
    research.write("mjolnir.toml", CONFIG.replace("0.05", "0.01"))
    assert "git commit" in fails(research, 4).err
    research.write("mjolnir.toml", CONFIG + '[hooks]\non_keep = "true"\n')
    assert research.init().code == 0


def test_a_configuration_that_nobody_committed_is_frozen_as_it_lies_there(research):
    research.git("rm", "-q", "--cached", "mjolnir.toml")
    research.git("commit", "-qm", "untracked configuration")
    research.started()
    research.commit(speedup=1.2)
    assert research.evaluate().json["status"] == "keep"


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("[run]\nmin_gian = 0.1\n", "min_gain"),
        ("[run]\nmin_gain = 'x'\n", "min_gain"),
        ("[run]\nmin_gain = 7.0\n", "min_gain"),
        ("[[[", "TOML"),
    ],
    ids=["unknown key", "wrong type", "absurd", "no TOML"],
)
def test_a_configuration_that_makes_no_sense_is_exit_2(research, text, word):
    research.write("mjolnir.toml", text)
    research.git("commit", "-qam", "configuration")
    assert word in fails(research, 2).err


def test_a_missing_configuration_is_exit_2(research):
    research.git("rm", "-q", "mjolnir.toml")
    research.git("commit", "-qm", "no configuration")
    assert "mjolnir new" in fails(research, 2).err


def test_paths_with_spaces_and_letters_of_all_kinds(tmp_path, research, mjolnir, monkeypatch):
    lab = Research(tmp_path / "dépôt — 速い 'x'", mjolnir)
    config = CONFIG.replace(KERNEL, "src/mein kärnel.py")
    lab.start_repository(config=config, commit=False)
    lab.write("src/mein kärnel.py", kernel_text())
    lab.git("add", "-A")
    lab.git("commit", "-qm", "start")
    assert lab.init("été.1").code == 0
    lab.write("src/mein kärnel.py", kernel_text(speedup=1.2))
    lab.git("commit", "-qam", "faster")
    assert lab.evaluate().json["status"] == "keep"
    assert lab.rows()[-1]["branch"] == "autoresearch/été.1"


def test_it_works_from_a_folder_below_the_root(research, mjolnir):
    assert mjolnir("autoresearch", "init", "oct11", cwd=research.root / "src").code == 0
    assert research.ledger.exists()


def test_each_work_tree_has_its_own_run(tmp_path, research, mjolnir):
    research.started("first")
    other = Research(tmp_path / "other", mjolnir)
    research.git("worktree", "add", "-q", "--detach", str(other.root), "main")
    assert other.init("second").code == 0
    for lab in (research, other):
        lab.commit(speedup=1.2)
        assert lab.evaluate().json["status"] == "keep"
    assert [[row["run"] for row in lab.rows()] for lab in (research, other)] == [["first"] * 2, ["second"] * 2]
    assert fails(other, 4, tag="first")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a repository to another user")
def test_a_repository_of_another_user_is_refused_with_the_command_that_trusts_it(research):
    subprocess.run(["chown", "-R", "65534:65534", research.root], check=True)
    said = research.init()
    assert (said.code, "safe.directory" in said.err) == (4, True)
    subprocess.run(["git", "config", "--global", "--add", "safe.directory", research.root], check=True)
    assert research.init().code == 0


def test_without_git_it_is_exit_2(tmp_path, research, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert shutil.which("git") is None
    said = research.init()
    assert (said.code, "install git" in said.err) == (2, True)


def test_a_tool_inside_the_repository_is_said_plainly(research, monkeypatch):
    monkeypatch.setattr("mjolnir.__file__", str(research.root / "mjolnir/__init__.py"))
    said = research.init()
    assert (said.code, "INSIDE this repository" in said.err) == (0, True)
