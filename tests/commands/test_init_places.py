"""`init` in repositories of every state: no commits, no main, leftovers, odd paths, other owners, no git."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest

from doubles.expectations import fails
from doubles.research import CONFIG, KERNEL, Research, kernel_text

pytest_plugins = ("doubles.fixtures",)


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
