"""research/ledger.tsv: a view of the ledger for spreadsheets and eyes, rebuilt whenever it may be out of step."""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from mjolnir.core.model import Experiment
from mjolnir.errors import Refused
from mjolnir.store import atomic
from mjolnir.store.codec import ViewRow, decode_view_row, decode_view_rows
from mjolnir.store.ledger_files import LedgerFiles

COLUMNS = ("id", "ts", "commit", "status", "score", "best_before", "correctness", "agent", "hypothesis", "reason")
_LARGE_BYTES = 32 << 20
"""About 20,000 rows, 0.2 s of CPU."""
_HEADER = "\t".join(COLUMNS) + "\n"
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
"""Tabs, line ends of every kind and terminal escapes: each becomes a space."""


def format_row(row: ViewRow | Experiment) -> str:
    """One line: text in one piece, floats with 4 decimals, nothing for null."""
    score = "" if row.score is None else f"{row.score:.4f}"
    best = "" if row.best_before is None else f"{row.best_before:.4f}"
    head = f"{row.id}\t{_cell(row.ts)}\t{_cell(row.commit)}\t{_cell(row.status)}\t{score}\t{best}\t"
    return f"{head}{_cell(row.correctness)}\t{_cell(row.agent)}\t{_cell(row.hypothesis)}\t{_cell(row.reason)}\n"


def format_rows(rows: Iterable[ViewRow]) -> bytes:
    """The whole view with its header, UTF-8; half surrogate pairs, which UTF-8 cannot hold, become '?'."""
    return (_HEADER + "".join(map(format_row, rows))).encode("utf-8", "replace")


def refresh(files: LedgerFiles) -> str | None:
    """Rebuild the view when it is missing, older or different. What went wrong comes back as text: a view is no row."""
    if is_current(files):
        return None
    try:
        _rebuild(files)
    except OSError as e:
        return f"{files.view} could not be written: {e.strerror}"
    except Refused:
        return None  # a damaged ledger: who reads the rows says so
    return None


def extend(files: LedgerFiles, row: Experiment) -> str | None:
    """Add a row to a view that was current before it. What went wrong comes back as text: the next command rebuilds."""
    try:
        fd = os.open(files.view, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            size_bytes = os.fstat(fd).st_size
            try:
                atomic.write_all(fd, format_row(row).encode("utf-8", "replace"))
            except OSError:
                os.ftruncate(fd, size_bytes)
                raise
        finally:
            os.close(fd)
        _write_stamp(files, os.stat(files.ledger.path))
    except OSError as e:
        return f"{files.view} could not be written: {e.strerror}"
    return None


def is_current(files: LedgerFiles) -> bool:
    """True when the view is the one that was written for the ledger as it is now; costs two stats and a small read.

    A ledger that mjolnir has not appended to has no stamp: the view's age decides, and a large one waits for its first
    append, so that looking at it stays quick.
    """
    try:
        ledger = files.ledger.path.stat()
    except OSError:
        return True
    is_ours = files.folder.is_dir()
    if not ledger.st_size or (not is_ours and ledger.st_size > _LARGE_BYTES):
        return True
    try:
        view = files.view.lstat()
    except OSError:
        return False
    if not is_ours:
        return view.st_mtime_ns >= ledger.st_mtime_ns
    try:
        return bool(json.loads(files.stamp.read_bytes()) == _stamp(ledger, view))
    except (OSError, ValueError):
        return False


def _rebuild(files: LedgerFiles) -> None:
    ledger = files.ledger.path.stat()
    rows = files.ledger.decode_all(decode_view_rows, decode_view_row)
    atomic.write_atomic(files.view, format_rows(rows))
    if files.folder.is_dir():
        # Stamped with the ledger as it was before reading: a row that came in meanwhile makes the next command rebuild.
        _write_stamp(files, ledger)


def _write_stamp(files: LedgerFiles, ledger: os.stat_result) -> None:
    with contextlib.suppress(PermissionError):
        atomic.write_atomic(files.stamp, json.dumps(_stamp(ledger, files.view.lstat())).encode(), is_durable=False)


def _stamp(ledger: os.stat_result, view: os.stat_result) -> dict[str, Any]:
    return {
        "ledger": [ledger.st_ino, ledger.st_size, ledger.st_mtime_ns],
        "view": [view.st_ino, view.st_size, view.st_mtime_ns, view.st_ctime_ns],
    }


def _cell(text: str | None) -> str:
    if text is None:
        return ""
    return text if text.isprintable() else _UNPRINTABLE.sub(" ", text)


def remove(files: LedgerFiles) -> None:
    """Remove the view and its stamp. Raises OSError."""
    for path in (files.view, files.stamp):
        Path(path).unlink(missing_ok=True)
