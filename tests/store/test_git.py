"""The repository in every state that a user may leave it in."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from repository import KERNEL, Repository

from mjolnir.errors import EnvironmentFault, MjolnirError, Refused
from mjolnir.store.git import Git

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: gives a folder to another user")


def code_of(call, *args):
    with pytest.raises(MjolnirError) as refusal:
        call(*args)
    assert refusal.value.message.isprintable()
    assert refusal.value.hint
    return refusal.value.code


def test_it_is_found_from_any_folder_inside(repo: Repository):
    deep = repo.root / "src" / "mjolnir_kernel"
    git = Git.find(deep)
    assert git == Git.find(repo.root)
    assert git.root == repo.root
    assert git.git_dir == git.common_dir == repo.root / ".git"


def test_a_folder_without_a_repository_is_refused(tmp_path):
    assert code_of(Git.find, tmp_path) == "E_REPOSITORY"
    assert code_of(Git.find, tmp_path / "missing") == "E_REPOSITORY"


def test_a_bare_repository_and_the_inside_of_a_git_directory_are_refused(repo, tmp_path):
    bare = tmp_path / "bare"
    repo.run("clone", "-q", "--bare", str(repo.root), str(bare))
    assert code_of(Git.find, bare) == "E_REPOSITORY"
    assert code_of(Git.find, repo.root / ".git" / "objects") == "E_REPOSITORY"


def test_without_git_the_machine_is_at_fault(repo, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EnvironmentFault, match="git is not installed"):
        Git.find(repo.root)


@needs_root
def test_a_repository_of_another_user_is_refused_with_the_command_that_trusts_it():
    folder = Path(tempfile.mkdtemp())
    try:
        Git.init_repository(folder)
        for path in [folder, *folder.rglob("*")]:
            os.chown(path, 65534, 65534)
        with pytest.raises(Refused) as refusal:
            Git.find(folder)
        assert refusal.value.code == "E_OWNER"
        assert "safe.directory" in refusal.value.hint
        subprocess.run(["git", "config", "--global", "--add", "safe.directory", folder], check=True)
        assert Git.find(folder).root == folder
    finally:
        shutil.rmtree(folder)


def test_a_work_tree_shares_the_common_directory(repo, tmp_path):
    other = tmp_path / "second tree"
    repo.run("worktree", "add", "-q", "-b", "side", str(other))
    git = Git.find(other)
    assert git.root == other
    assert git.common_dir == repo.git.common_dir
    assert git.git_dir != repo.git.git_dir
    assert git.branch() == "side"
    git.pin("oct11", 1, git.head())
    assert repo.git.pinned("oct11") == {1: git.head()}
    assert code_of(repo.git.delete_branch, "side") == "E_BRANCH"


def test_parents_ancestors_and_subjects(repo):
    first = repo.git.head()
    second = repo.commit({KERNEL: "two\n"}, "split: löß \x1b[31m\n\nbody")
    assert repo.git.parent(second) == first
    assert repo.git.parent(first) is None
    assert repo.git.subject(second) == "split: löß ?[31m"
    assert repo.git.is_ancestor(first, second)
    assert repo.git.is_ancestor(first, first)
    assert not repo.git.is_ancestor(second, first)


def test_changed_paths_name_every_path_of_every_commit(repo):
    first = repo.git.head()
    repo.commit({KERNEL: "two\n", "an öther file.txt": "x", "line\nend": "y"})
    repo.commit({"an öther file.txt": None, "line\nend": None})
    repo.run("mv", "README.md", "LIESMICH.md")
    repo.run("commit", "-q", "-m", "rename")
    (repo.root / KERNEL).chmod(0o755)
    repo.run("commit", "-q", "-a", "-m", "mode")
    head = repo.git.head()
    expected = {KERNEL, "an öther file.txt", "line\nend", "README.md", "LIESMICH.md"}
    assert set(repo.git.changed_paths(first, head)) == expected
    assert repo.git.changed_paths(head, head) == ()


def test_changed_paths_look_into_both_sides_of_a_merge(repo):
    first = repo.git.head()
    repo.run("checkout", "-q", "-b", "side")
    repo.commit({"smuggled.py": "x"})
    repo.run("checkout", "-q", "main")
    repo.commit({KERNEL: "two\n"})
    repo.run("merge", "-q", "--no-ff", "--no-commit", "side")
    (repo.root / "evil.py").write_text("in the merge itself")
    repo.run("add", "evil.py")
    repo.run("commit", "-q", "-m", "merge")
    assert set(repo.git.changed_paths(first, repo.git.head())) == {KERNEL, "smuggled.py", "evil.py"}


def test_a_diff_is_text_whatever_the_attributes_say(repo):
    first = repo.git.head()
    second = repo.commit({KERNEL: "zwei ö\n", ".gitattributes": "*.py -diff\n"})
    text = repo.git.diff(first, second, KERNEL)
    assert "+zwei ö" in text
    assert ".gitattributes" not in text
    assert repo.git.diff(second, second, KERNEL) == ""
    assert repo.git.diff(first, second, "nothing") == ""


def test_pins_keep_a_dropped_commit_and_can_be_let_go(repo):
    first = repo.git.head()
    dropped = repo.commit({KERNEL: "worse\n"})
    repo.git.pin("oct11", 7, dropped)
    repo.git.reset_keep(first)
    repo.run("reflog", "expire", "--expire=now", "--all")
    repo.run("gc", "-q", "--prune=now")
    assert repo.git.pinned("oct11") == {7: dropped}
    assert repo.git.read_blob(dropped, KERNEL).data == b"worse\n"
    assert repo.git.pinned("other") == {}
    repo.git.unpin("oct11")
    assert repo.git.pinned("oct11") == {}


def test_a_repository_with_sha256_ids_works(tmp_path):
    if subprocess.run(["git", "init", "-q", "--object-format=sha256", tmp_path], capture_output=True).returncode:
        pytest.skip("this git knows no SHA-256 repositories")
    git = Git.find(tmp_path)
    (tmp_path / "kernel.py").write_text("x = 1\n")
    commit = git.commit("first", ["kernel.py"])
    assert len(commit) == 64
    assert git.read_blob(commit, "kernel.py").data == b"x = 1\n"
    assert not git.is_dirty("kernel.py")
    assert git.subject(commit) == "first"
