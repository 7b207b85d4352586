"""A last line without its newline: what a process that died in the middle of a write leaves."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from mjolnir.store import atomic
from mjolnir.store.chain import read_link
from mjolnir.store.ledger_files import LEDGER, LedgerFiles
from mjolnir.store.row_file import RowFile, count_lines


def mend_ledger(files: LedgerFiles, notice: Callable[[str], None]) -> None:
    """Set a torn last line aside in research/ledger.torn-<ts>; a whole row that lacks its newline gets it.

    Raises Refused E_DISK_FULL or E_READ_ONLY.
    """
    rest = files.ledger.tail(0).rest
    if not rest:
        return
    number = sum(count_lines(block) for block in files.ledger.blocks()) + 1
    with atomic.disk_errors(files.ledger.path):
        if _is_whole_row(rest):
            _finish_line(files.ledger)
            notice(f"{LEDGER}:{number} had no newline at its end: added")
            return
        aside = _set_aside(files.research, rest)
        _cut(files.ledger, len(rest))
    notice(f"{LEDGER}:{number} was torn in the middle of a write: its {len(rest)} bytes were set aside in {aside}")


def mend_mirror(files: LedgerFiles) -> None:
    """Cut a torn last line off the mirror, or finish it: its row was never acknowledged, or is in the ledger."""
    rest = files.mirror.tail(0).rest
    if not rest:
        return
    with atomic.disk_errors(files.mirror.path):
        if _is_whole_row(rest):
            _finish_line(files.mirror)
        else:
            _cut(files.mirror, len(rest))


def _is_whole_row(line: bytes) -> bool:
    try:
        read_link(0, line)
    except ValueError:
        return False
    return True


def _finish_line(file: RowFile) -> None:
    fd = atomic.open_durable(file.path, os.O_WRONLY | os.O_APPEND)
    try:
        atomic.write_all(fd, b"\n")
        os.fsync(fd)
    finally:
        os.close(fd)


def _cut(file: RowFile, count_bytes: int) -> None:
    fd = atomic.open_durable(file.path, os.O_WRONLY)
    try:
        os.ftruncate(fd, os.fstat(fd).st_size - count_bytes)
        os.fsync(fd)
    finally:
        os.close(fd)


def _set_aside(folder: Path, data: bytes) -> str:
    """A new file research/ledger.torn-<ts> with `data`; its name, relative to the repository."""
    stem = f"ledger.torn-{datetime.now(UTC):%Y%m%dT%H%M%S}"
    attempt = 1
    while True:
        path = folder / (stem if attempt == 1 else f"{stem}-{attempt}")
        try:
            atomic.write_exclusive(path, data)
        except FileExistsError:
            attempt += 1
        else:
            return f"{folder.name}/{path.name}"
