"""Branches, resets and commits: what a user has not committed is kept, or git says why not."""

from __future__ import annotations

import subprocess

import pytest
from repository import KERNEL

from mjolnir.errors import MjolnirError, Refused
from mjolnir.store.git import Git


def code_of(call, *args):
    with pytest.raises(MjolnirError) as refusal:
        call(*args)
    assert refusal.value.message.isprintable()
    assert refusal.value.hint
    return refusal.value.code


def test_head_branch_and_revisions_are_full_ids(repo):
    first = repo.run("rev-parse", "HEAD")
    assert repo.git.head() == first
    assert repo.git.branch() == "main"
    assert repo.git.resolve("main") == first
    assert repo.git.resolve(first[:8]) == first
    for nothing in ("nowhere", "--all", "", "a\0b", "main\nmain", "0" * 40):
        assert repo.git.resolve(nothing) is None
    assert repo.git.exists(first)
    assert not repo.git.exists("f" * 40)


def test_before_the_first_commit_there_is_a_branch_and_no_head(tmp_path):
    git = Git.init_repository(tmp_path)
    assert git.head() is None
    assert git.branch() == "main"
    assert not git.default_branch_exists("main")
    assert git.dirty_paths() == ()
    assert git.is_dirty(KERNEL)
    assert code_of(git.create_branch, "autoresearch/x", "main") == "E_BRANCH"


def test_a_detached_head_has_no_branch(repo):
    repo.run("checkout", "-q", "--detach")
    assert repo.git.branch() is None
    assert repo.git.head() is not None


def test_a_new_branch_takes_uncommitted_changes_along(repo):
    (repo.root / "README.md").write_text("mine\n")
    (repo.root / "untracked").write_text("mine too\n")
    repo.git.create_branch("autoresearch/oct11", "main")
    assert repo.git.branch() == "autoresearch/oct11"
    assert repo.git.branch_exists("autoresearch/oct11")
    assert (repo.root / "README.md").read_text() == "mine\n"
    repo.git.switch("main")
    assert (repo.root / "README.md").read_text() == "mine\n"
    assert (repo.root / "untracked").read_text() == "mine too\n"
    repo.git.delete_branch("autoresearch/oct11")
    assert not repo.git.branch_exists("autoresearch/oct11")


def test_a_change_in_the_way_is_refused_in_gits_words_and_kept(repo):
    repo.run("branch", "old")
    repo.commit({"README.md": "two\n"})
    (repo.root / "README.md").write_text("mine\n")
    with pytest.raises(Refused, match=r"README\.md") as refusal:
        repo.git.create_branch("autoresearch/oct11", "old")
    assert refusal.value.code == "E_DIRTY"
    assert repo.git.branch() == "main"
    assert not repo.git.branch_exists("autoresearch/oct11")
    assert code_of(repo.git.switch, "old") == "E_DIRTY"
    assert code_of(repo.git.reset_keep, repo.git.resolve("old")) == "E_DIRTY"
    assert (repo.root / "README.md").read_text() == "mine\n"


def test_an_existing_branch_and_a_missing_base_are_refused(repo):
    repo.run("branch", "autoresearch/oct11")
    assert code_of(repo.git.create_branch, "autoresearch/oct11", "main") == "E_BRANCH"
    assert code_of(repo.git.create_branch, "autoresearch/nov2", "trunk") == "E_BRANCH"
    assert not repo.git.default_branch_exists("trunk")
    assert code_of(repo.git.switch, "trunk") == "E_BRANCH"


def test_a_branch_in_the_way_of_the_prefix_is_refused(repo):
    repo.run("branch", "autoresearch")
    assert code_of(repo.git.create_branch, "autoresearch/oct11", "main") == "E_BRANCH"


def test_switching_to_a_commit_detaches(repo):
    first = repo.git.head()
    repo.commit({KERNEL: "two\n"})
    repo.git.switch(first)
    assert (repo.git.branch(), repo.git.head()) == (None, first)


def test_a_stale_index_lock_is_named_with_the_command_that_removes_it(repo):
    lock = repo.root / ".git" / "index.lock"
    lock.write_text("")
    with pytest.raises(Refused) as refusal:
        repo.git.create_branch("autoresearch/oct11", "main")
    assert refusal.value.code == "E_STALE_LOCK"
    assert str(lock) in refusal.value.hint
    assert repo.git.branch() == "main"
    assert code_of(repo.git.commit, "message", ["README.md"]) == "E_STALE_LOCK"
    assert not repo.git.is_dirty(KERNEL), "reading needs no lock"
    lock.unlink()
    repo.git.create_branch("autoresearch/oct11", "main")


def test_a_commit_holds_exactly_the_named_files(repo):
    (repo.root / "a file ö.txt").write_text("a")
    (repo.root / "other.txt").write_text("b")
    (repo.root / "README.md").write_text("staged by the user\n")
    repo.run("add", "README.md")
    before = repo.git.head()
    commit = repo.git.commit("first line\n\n# kept\n", ["a file ö.txt"])
    assert repo.git.changed_paths(before, commit) == ("a file ö.txt",)
    assert repo.run("log", "-1", "--format=%B").strip() == "first line\n\n# kept"
    assert repo.git.dirty_paths() == ("README.md",)


def test_a_user_without_an_identity_gets_a_neutral_one(tmp_path, monkeypatch):
    for role in ("AUTHOR", "COMMITTER"):
        for part in ("NAME", "EMAIL"):
            monkeypatch.delenv(f"GIT_{role}_{part}")
    git = Git.init_repository(tmp_path)
    (tmp_path / "file").write_text("x")
    commit = git.commit("first", ["file"])
    assert "mjolnir@localhost" in subprocess.check_output(
        ["git", "-C", tmp_path, "cat-file", "commit", commit], text=True
    )
    subprocess.run(["git", "-C", tmp_path, "config", "user.name", "Me"], check=True)
    (tmp_path / "file").write_text("y")
    text = subprocess.check_output(
        ["git", "-C", tmp_path, "cat-file", "commit", git.commit("second", ["file"])], text=True
    )
    assert "author Me <mjolnir@localhost>" in text
