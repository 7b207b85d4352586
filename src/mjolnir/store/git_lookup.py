"""Many objects of a repository in one git process: what is there, and the bytes of those that their id fits."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

from mjolnir.store.git_command import call_git
from mjolnir.store.git_objects import object_id

FULL_ID = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
"""SHA-1, or SHA-256. Nothing else of a ledger is ever handed to git."""
_HEAD = re.compile(rb"([0-9a-f]{40,64}) (\w+) (\d+)")


def look_up(root: Path, names: Iterable[str]) -> dict[str, tuple[str, str]]:
    """{name: (id, kind)} of the names that are there; a name is an id or `<commit>:<path>`, without line ends.

    Raises EnvironmentFault E_GIT and what git's own complaint means.
    """
    wanted = list(dict.fromkeys(names))
    if not wanted:
        return {}
    output = call_git(["cat-file", "--batch-check"], root, stdin=b"".join(os.fsencode(name) + b"\n" for name in wanted))
    found: dict[str, tuple[str, str]] = {}
    for name, line in zip(wanted, output.split(b"\n"), strict=False):
        head = _HEAD.fullmatch(line)
        if head is not None:
            found[name] = head[1].decode(), head[2].decode()
    return found


def read_blobs(root: Path, ids: Iterable[str]) -> dict[str, bytes]:
    """{id: bytes} of the blobs that are there and hash to their id. Raises as `look_up`."""
    wanted = list(dict.fromkeys(ids))
    if not wanted:
        return {}
    output = call_git(["cat-file", "--batch"], root, stdin="".join(f"{oid}\n" for oid in wanted).encode())
    found: dict[str, bytes] = {}
    start = 0
    for oid in wanted:
        end = output.index(b"\n", start)
        head = _HEAD.fullmatch(output[start:end])
        start = end + 1
        if head is None:
            continue
        data = output[start : start + int(head[3])]
        start += len(data) + 1
        if head[2] == b"blob" and object_id("blob", data, len(oid)) == oid:
            found[oid] = data
    return found
