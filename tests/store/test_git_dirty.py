"""What counts as a change: raw bytes, no flag or stat time believed, no filter asked."""

from __future__ import annotations

import os

import pytest
from repository import KERNEL


@pytest.mark.parametrize("flag", ["--assume-unchanged", "--skip-worktree"])
def test_no_flag_hides_a_change(repo, flag):
    for path in (KERNEL, "README.md"):
        repo.run("update-index", flag, path)
    assert not repo.git.is_dirty(KERNEL)
    assert repo.git.dirty_paths() == ()
    (repo.root / KERNEL).write_text("two\n")
    (repo.root / "README.md").write_text("two\n")
    assert repo.git.is_dirty(KERNEL)
    assert repo.git.dirty_paths() == ("README.md", KERNEL)


def test_a_change_with_the_old_size_and_time_is_seen(repo):
    repo.run("config", "core.trustctime", "false")
    repo.run("config", "core.checkStat", "minimal")
    kernel = repo.root / KERNEL
    os.utime(kernel, (1_000_000_000, 1_000_000_000))
    repo.run("update-index", "--refresh")
    kernel.write_text("two\n")
    os.utime(kernel, (1_000_000_000, 1_000_000_000))
    assert repo.run("status", "--porcelain") == ""
    assert repo.git.is_dirty(KERNEL)


def test_a_staged_change_is_dirty_even_when_the_file_was_put_back(repo):
    (repo.root / KERNEL).write_text("two\n")
    repo.run("add", KERNEL)
    (repo.root / KERNEL).write_text("one\n")
    assert repo.git.is_dirty(KERNEL)
    assert repo.git.dirty_paths() == (KERNEL,)


@pytest.mark.parametrize("harm", ["removed", "link to the same text", "folder", "fifo", "behind a link"])
def test_a_kernel_that_is_no_plain_file_is_dirty(repo, harm):
    kernel = repo.root / KERNEL
    if harm == "behind a link":
        kernel.parent.rename(repo.root / "moved")
        kernel.parent.symlink_to("../moved")
    else:
        kernel.unlink()
    if harm == "link to the same text":
        repo.write("same.py", "one\n")
        kernel.symlink_to("../../same.py")
    elif harm == "folder":
        kernel.mkdir()
    elif harm == "fifo":
        os.mkfifo(kernel)
    assert repo.git.is_dirty(KERNEL)


def test_what_only_looks_touched_is_not_dirty(repo):
    repo.write("untracked.txt", "x")
    (repo.root / "link").symlink_to("README.md")
    repo.run("add", "link")
    repo.run("commit", "-q", "-m", "link")
    for path in (KERNEL, "README.md", "a dir/ünïcode näme.txt"):
        os.utime(repo.root / path, (1, 1))
    assert not repo.git.is_dirty(KERNEL)
    assert repo.git.dirty_paths() == ()


def test_line_ends_that_git_itself_converts_are_not_a_change(repo):
    repo.commit({".gitattributes": "*.txt text eol=crlf\n", "dos.txt": "a\n"})
    (repo.root / "dos.txt").write_bytes(b"a\r\n")
    os.utime(repo.root / "dos.txt", (1, 1))
    assert repo.git.dirty_paths() == ()
    (repo.root / "dos.txt").write_bytes(b"b\r\n")
    assert repo.git.dirty_paths() == ("dos.txt",)


def test_files_left_out_by_a_sparse_checkout_are_not_a_change(repo):
    repo.run("update-index", "--skip-worktree", "README.md")
    (repo.root / "README.md").unlink()
    assert repo.git.dirty_paths() == ()


def test_a_path_that_looks_like_a_pattern_is_a_path(repo):
    repo.commit({"*.md": "star\n"})
    (repo.root / "README.md").write_text("two\n")
    assert not repo.git.is_dirty("*.md")
    assert repo.git.is_dirty("README.md")
