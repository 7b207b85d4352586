"""Facts beside the ledger: what was measured of a run but is no experiment, one JSON object a line, newest last.

They lie in the run's folder under the git directory, <name>.jsonl, and are never rows. An append is whole or undone; a
process that died in the middle of one leaves a torn last line, which readers pass over and the next append cuts off.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from mjolnir.errors import Refused
from mjolnir.store import atomic
from mjolnir.store.ledger_files import run_folder
from mjolnir.store.lock import exclusive
from mjolnir.store.row_file import RowFile

_NAME = re.compile(r"[a-z][a-z_]*")


def append_fact(common_dir: Path, tag: str, name: str, fact: Mapping[str, Any]) -> None:
    """Write `fact` behind the last one of <git common dir>/mjolnir/<tag>/<name>.jsonl, under the run's lock, synced.

    Raises Refused E_RUN (no such run), E_DISK_FULL, E_READ_ONLY, E_LEDGER (the lock is held, or it is no plain file)
    with the file as it was; ValueError for NaN, inf and what JSON has not.
    """
    file, folder = _file(common_dir, tag, name), run_folder(common_dir, tag)
    line = json.dumps(fact, separators=(",", ":"), allow_nan=False).encode() + b"\n"
    if not folder.is_dir():
        what = f"there is no run {tag} in this repository"
        raise Refused("E_RUN", what, f"start one: mjolnir autoresearch init {tag}")
    with exclusive(folder / "lock"), atomic.disk_errors(file.path):
        fd = file.open(os.O_RDWR | os.O_CREAT | os.O_APPEND)
        try:
            end = os.fstat(fd).st_size - len(file.tail(0).rest)
            _append(fd, end, line)
        finally:
            os.close(fd)


def read_facts(common_dir: Path, tag: str, name: str, notice: Callable[[str], None]) -> list[dict[str, Any]]:
    """Every fact, oldest first; empty when there is none. A torn last line is told to `notice` and left out.

    Raises Refused E_LEDGER that names file and line where a whole line is no JSON object, or the file cannot be read.
    """
    file = _file(common_dir, tag, name)
    facts = [_decode(file, number, line) for number, line in file.lines()]
    rest = file.tail(0).rest
    if rest:
        notice(f"{file.shown} ends in a line that was torn in the middle of a write: it is left out")
    return facts


def _file(common_dir: Path, tag: str, name: str) -> RowFile:
    if _NAME.fullmatch(name) is None:
        raise ValueError(f"{name!r} is not the name of a kind of facts")
    path = run_folder(common_dir, tag) / f"{name}.jsonl"
    return RowFile(path=path, shown=str(path))


def _append(fd: int, end_bytes: int, line: bytes) -> None:
    """`line` at `end_bytes`, where the last whole line ends, or nothing at all. Raises OSError."""
    if os.fstat(fd).st_size > end_bytes:
        os.ftruncate(fd, end_bytes)
    try:
        atomic.write_all(fd, line)
        os.fsync(fd)
    except BaseException:
        with contextlib.suppress(OSError):
            os.ftruncate(fd, end_bytes)
            os.fsync(fd)
        raise


def _decode(file: RowFile, number: int, line: bytes) -> dict[str, Any]:
    try:
        fact = json.loads(line)
    except (ValueError, RecursionError):
        fact = None
    if not isinstance(fact, dict):
        raise Refused(
            "E_LEDGER",
            f"{file.shown}, line {number} is no JSON object: it was changed by another hand",
            f"move the file away, then measure again: mv '{file.path}' '{file.path}.aside'",
        )
    return fact
