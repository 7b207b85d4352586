"""research/ledger.tsv: a view of the ledger for spreadsheets and eyes, rebuilt whenever it may be out of step."""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Iterable

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
    if not _is_needed(files) or current(files) is not None:
        return None
    try:
        _rebuild(files)
    except OSError as e:
        return f"{files.view} could not be written: {e.strerror}"
    except Refused:
        return None  # a damaged ledger: who reads the rows says so
    return None


def extend(files: LedgerFiles, row: Experiment, seen: os.stat_result | None) -> str | None:
    """Add a row to the view that `current` saw before it, or rebuild. What went wrong comes back as text."""
    if seen is None:
        return refresh(files)
    try:
        fd = os.open(files.view, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            # A reader may have put a rebuilt view, perhaps of fewer rows, in the place of the one that was seen.
            if _view_stamp(os.fstat(fd)) == _view_stamp(seen):
                _append(fd, format_row(row).encode("utf-8", "replace"))
                _write_stamp(files, files.ledger.path.stat(), os.fstat(fd))
        finally:
            os.close(fd)
    except OSError as e:
        return f"{files.view} could not be written: {e.strerror}"
    return None


def current(files: LedgerFiles) -> os.stat_result | None:
    """The view, when it is the one that was written for the ledger as it is now; two stats and a small read.

    A ledger that mjolnir has not appended to has no stamp: there the view's age decides.
    """
    try:
        ledger, view = files.ledger.path.stat(), files.view.lstat()
    except OSError:
        return None
    if not files.folder.is_dir():
        return view if view.st_mtime_ns >= ledger.st_mtime_ns else None
    try:
        stamp = json.loads(files.stamp.read_bytes())
    except (OSError, ValueError):
        return None
    return view if stamp == _stamp(ledger, view) else None


def remove(files: LedgerFiles) -> None:
    """Remove the view and its stamp. Raises OSError."""
    for path in (files.view, files.stamp):
        path.unlink(missing_ok=True)


def _is_needed(files: LedgerFiles) -> bool:
    """An empty ledger has no view; a large one of another make waits for its first append: a look stays quick."""
    size_bytes = files.ledger.size_bytes()
    return 0 < size_bytes <= _LARGE_BYTES or (size_bytes > 0 and files.folder.is_dir())


def _rebuild(files: LedgerFiles) -> None:
    ledger = files.ledger.path.stat()
    rows = files.ledger.decode_all(decode_view_rows, decode_view_row)
    info = atomic.write_atomic(files.view, format_rows(rows))
    if files.folder.is_dir():
        # Stamped with the ledger as it was before reading: a row that came in meanwhile makes the next command rebuild.
        _write_stamp(files, ledger, info)


def _append(fd: int, data: bytes) -> None:
    size_bytes = os.fstat(fd).st_size
    try:
        atomic.write_all(fd, data)
    except OSError:
        os.ftruncate(fd, size_bytes)
        raise


def _write_stamp(files: LedgerFiles, ledger: os.stat_result, view: os.stat_result) -> None:
    with contextlib.suppress(PermissionError):
        atomic.write_atomic(files.stamp, json.dumps(_stamp(ledger, view)).encode(), is_durable=False)


def _stamp(ledger: os.stat_result, view: os.stat_result) -> dict[str, list[int]]:
    return {"ledger": [ledger.st_ino, ledger.st_size, ledger.st_mtime_ns], "view": _view_stamp(view)}


def _view_stamp(view: os.stat_result) -> list[int]:
    return [view.st_ino, view.st_size, view.st_mtime_ns, view.st_ctime_ns]


def _cell(text: str | None) -> str:
    if text is None:
        return ""
    return text if text.isprintable() else _UNPRINTABLE.sub(" ", text)
