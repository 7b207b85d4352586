"""What differs from HEAD in a work tree, found without asking any program that the repository names.

git's own answer trusts stat times and the skip-worktree and assume-unchanged bits; a flagged file is read here.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from mjolnir.store.git_command import call_git, run_git
from mjolnir.store.git_objects import object_id

Overrides = Iterable[tuple[str, str]]
_GITLINK = "160000"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    mode: str
    sha: str


def is_dirty(root: Path, path: str) -> bool:
    """True unless index and work tree hold exactly HEAD's bytes of `path`, in a regular file behind no link."""
    head = _tree_entry(root, path)
    if head is None or _index(root, path) != {path: head}:
        return True
    return _raw_id(root, path, len(head.sha)) != head.sha


def dirty_paths(root: Path, overrides: Overrides) -> tuple[str, ...]:
    """Tracked files whose index or work tree differs from HEAD, sorted. Submodules and untracked files do not count.

    `overrides` switch the configured filters off: a file that only a filter could compare counts as different once its
    stat data changed.
    """
    index = _index(root)
    options = ("--name-only", "--no-renames", "--ignore-submodules=all")
    dirty = set(_names(root, "diff-index", "--cached", *options, "HEAD"))
    touched = _names(root, "diff-files", *options, overrides=overrides)
    hidden = _hidden(root)
    for path in {*touched, *hidden} - dirty:
        entry = index[path]
        if entry.mode != _GITLINK and not _matches(root, path, entry, overrides, may_be_absent=path in hidden):
            dirty.add(path)
    return tuple(sorted(dirty))


def _matches(root: Path, path: str, entry: _Entry, overrides: Overrides, *, may_be_absent: bool) -> bool:
    """True when the file is the index's, byte for byte or after git's own line-end conversion.

    A sparse checkout leaves files out on purpose: absent and flagged is not changed.
    """
    if may_be_absent and not os.path.lexists(root / path):
        return True
    if entry.mode == "120000":
        try:
            target = os.readlink(os.fsencode(root / path))
        except OSError:
            return False
        return object_id("blob", target, len(entry.sha)) == entry.sha
    raw = _raw_id(root, path, len(entry.sha))
    if raw is None or raw == entry.sha or "\n" in path:
        return raw == entry.sha
    finished = run_git(["hash-object", "--stdin-paths"], root, stdin=os.fsencode(path) + b"\n", overrides=overrides)
    return finished.ok and finished.stdout.strip().decode() == entry.sha


def _raw_id(root: Path, path: str, id_length: int) -> str | None:
    """The blob id of a work-tree file's bytes; None when it is missing, not regular, unreadable or behind a link."""
    place = root
    for part in path.split("/")[:-1]:
        place = place / part
        if place.is_symlink():
            return None
    try:
        fd = os.open(root / path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return None
        with os.fdopen(fd, "rb", closefd=False) as file:
            return object_id("blob", file.read(), id_length)
    finally:
        os.close(fd)


def _tree_entry(root: Path, path: str) -> _Entry | None:
    """`path` at HEAD; None when it is not there, or there is no HEAD yet."""
    finished = run_git(["ls-tree", "-z", "--full-tree", "HEAD", "--", path], root)
    for record in finished.stdout.split(b"\0")[:-1] if finished.ok else []:
        info, _, name = record.partition(b"\t")
        mode, _, sha = info.decode().split(" ")
        if os.fsdecode(name) == path:
            return _Entry(mode=mode, sha=sha)
    return None


def _index(root: Path, *paths: str) -> dict[str, _Entry]:
    """The index's entries; a path in the middle of a merge has the mode "unmerged"."""
    found: dict[str, _Entry] = {}
    for record in call_git(["ls-files", "--stage", "-z", "--", *paths], root).split(b"\0")[:-1]:
        info, _, name = record.partition(b"\t")
        mode, sha, stage = info.decode().split(" ")
        found[os.fsdecode(name)] = _Entry(mode=mode if stage == "0" else "unmerged", sha=sha)
    return found


def _hidden(root: Path) -> set[str]:
    """Paths that git was told not to look at: skip-worktree (S) and assume-unchanged (any lower-case letter)."""
    records = call_git(["ls-files", "-v", "-z"], root).split(b"\0")[:-1]
    return {os.fsdecode(record[2:]) for record in records if record[:1].islower() or record[:1] == b"S"}


def _names(root: Path, *args: str, overrides: Overrides = ()) -> list[str]:
    output = call_git([args[0], "-z", *args[1:], "--"], root, overrides=overrides)
    return [os.fsdecode(name) for name in output.split(b"\0")[:-1]]
