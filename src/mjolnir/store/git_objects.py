"""Commits, trees and blobs read with their hashes checked, so that a path at a commit is what the commit's id says.

git does not hash what it reads: whoever can write .git/objects can put other bytes under a known name.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from mjolnir.errors import Refused
from mjolnir.store.foreign_text import one_line
from mjolnir.store.git_command import call_git

MAX_BLOB_BYTES = 1 << 20
"""A kernel file is some kilobytes; more is data in disguise."""
REGULAR = "100644"
_KINDS = {"120000": "a symbolic link", "160000": "a submodule", "040000": "a folder", "100755": "an executable file"}
_MENDS = {
    "100755": "chmod -x '{path}' && git update-index --chmod=-x '{path}' && git commit -m 'not executable' '{path}'",
    "120000": "replace the link by the file it points to, then git add '{path}' && git commit",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Blob:
    """A regular file at a commit: its full id, its mode (always 100644) and its bytes."""

    sha: str
    mode: str
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitRecord:
    """What a commit says of itself."""

    tree: str
    parents: tuple[str, ...]
    subject: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Object:
    kind: str
    data: bytes


def read_commit(root: Path, commit: str) -> CommitRecord:
    """A commit by its full id. Raises Refused E_OBJECTS when it is missing or does not hash to its id."""
    (found,) = _read(root, [commit])
    data = _require(found, "commit", commit, commit)
    head, _, message = data.partition(b"\n\n")
    fields = [line.split(b" ", 1) for line in head.split(b"\n")]
    return CommitRecord(
        tree=next(value.decode() for key, value in fields if key == b"tree"),
        parents=tuple(value.decode() for key, value in (f for f in fields if len(f) == 2) if key == b"parent"),
        subject=one_line(message.decode("utf-8", "replace").lstrip("\n").partition("\n")[0]),
    )


def read_blob(root: Path, commit: str, path: str) -> Blob:
    """The file `path` (relative to the root, '/' between its parts) at a commit, as its id says.

    Raises Refused E_NOT_REGULAR when it is missing, no plain 100644 file or over 1 MB, E_OBJECTS when an object on the
    way does not hash to its name.
    """
    if "\n" in path:
        raise _not_regular(path, commit, "has a line end in its name", "give it another name: git mv")
    prefixes = ["/".join(path.split("/")[:n]) for n in range(1, path.count("/") + 2)]
    size_bytes = _size_bytes(root, f"{commit}:{path}")
    if size_bytes is not None and size_bytes > MAX_BLOB_BYTES:
        what = f"has {size_bytes:,} bytes; at most {MAX_BLOB_BYTES:,} are measured"
        raise _not_regular(path, commit, what, "shorten it: a kernel holds code, not data")
    names = [commit, f"{commit}^{{tree}}", *(f"{commit}:{prefix}" for prefix in prefixes)]
    first, *objects = _read(root, names)
    oid = _require(first, "commit", commit, commit).partition(b"\n")[0].removeprefix(b"tree ").decode()
    for prefix, tree in zip(prefixes, objects[:-1], strict=True):
        data = _require(tree, "tree", oid, commit)
        entry = _entry(data, prefix.rpartition("/")[2], len(oid) // 2)
        if entry is None:
            raise _not_regular(path, commit, "does not exist", f"commit it: git add '{path}' && git commit")
        mode, oid = entry
        is_last = prefix == path
        if mode != (REGULAR if is_last else "040000"):
            what = "is" if is_last else f"is not a file: {prefix} is"
            kind = _KINDS.get(mode, f"of mode {mode}" if is_last else "a file")
            mend = _MENDS.get(mode, "make '{path}' a plain file and commit it").format(path=prefix)
            raise _not_regular(path, commit, f"{what} {kind}", mend)
    return Blob(sha=oid, mode=REGULAR, data=_require(objects[-1], "blob", oid, commit))


def object_id(kind: str, data: bytes, id_length: int) -> str:
    """git's id of an object: SHA-1 over header and data, SHA-256 in a repository whose ids have 64 hex digits."""
    header = f"{kind} {len(data)}\0".encode()
    digest = hashlib.sha256 if id_length == 64 else lambda text: hashlib.sha1(text, usedforsecurity=False)
    return digest(header + data).hexdigest()


def _read(root: Path, names: Iterable[str]) -> list[_Object | None]:
    """Objects by name, None for one that is not there."""
    wanted = list(names)
    output = call_git(["cat-file", "--batch"], root, stdin=b"".join(os.fsencode(name) + b"\n" for name in wanted))
    found = list(_parse_batch(output, len(wanted)))
    assert len(found) == len(wanted)
    return found


def _parse_batch(output: bytes, count: int) -> Iterator[_Object | None]:
    start = 0
    for _ in range(count):
        end = output.index(b"\n", start)
        header = re.fullmatch(rb"[0-9a-f]{40,64} (\w+) (\d+)", output[start:end])
        start = end + 1
        if header is None:
            yield None
            continue
        size_bytes = int(header[2])
        yield _Object(kind=header[1].decode(), data=output[start : start + size_bytes])
        start += size_bytes + 1


def _size_bytes(root: Path, name: str) -> int | None:
    line = call_git(["cat-file", "--batch-check"], root, stdin=os.fsencode(name) + b"\n")
    header = re.fullmatch(rb"[0-9a-f]{40,64} blob (\d+)\n", line)
    return int(header[1]) if header else None


def _require(found: _Object | None, kind: str, oid: str, commit: str) -> bytes:
    """The object's bytes, if it is there and is what its id says."""
    if found is None:
        what = f"{kind} {oid[:12]} of commit {commit[:12]} is missing"
    elif found.kind != kind or object_id(kind, found.data, len(oid)) != oid:
        what = f"{kind} {oid[:12]} of commit {commit[:12]} does not hold what its id says"
    else:
        return found.data
    raise Refused("E_OBJECTS", f"the repository is damaged: {what}", "git fsck --full shows more; restore the object")


def _entry(tree: bytes, name: str, id_bytes: int) -> tuple[str, str] | None:
    """(mode with six digits, id) of a name in a tree, None when it is not there."""
    wanted, start = os.fsencode(name), 0
    while start < len(tree):
        end = tree.index(b"\0", start)
        mode, _, found = tree[start:end].partition(b" ")
        start = end + 1 + id_bytes
        if found == wanted:
            return mode.decode().zfill(6), tree[end + 1 : start].hex()
    return None


def _not_regular(path: str, commit: str, what: str, hint: str) -> Refused:
    return Refused("E_NOT_REGULAR", f"{one_line(path)} at {commit[:12]} {what}", hint)
