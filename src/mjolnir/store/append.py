"""The steps of an append, in the order that makes every interruption harmless.

anchor(pending) -> mirror -> ledger -> anchor. A process that dies between two steps leaves a state which `settle` ends
without guessing: the row that is pending is the only one beyond the anchor that is believed.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from dataclasses import replace

from mjolnir.core.model import Experiment
from mjolnir.errors import Refused
from mjolnir.store import atomic, settle, view
from mjolnir.store.anchor import Anchor
from mjolnir.store.codec import SCHEMA, decode_json, encode_row, row_hash
from mjolnir.store.ledger_files import LedgerFiles
from mjolnir.store.lock import exclusive


def append_row(files: LedgerFiles, tag: str, row: Experiment, notice: Callable[[str], None]) -> Experiment:
    """Write `row` behind the last one. Raises Refused with the files as they were; ValueError for NaN and inf."""
    with exclusive(files.lock), atomic.disk_errors(files.ledger.path):
        atomic.make_folder(files.research)
        tip = settle.settle_locked(files, notice)
        before = tip.anchor or _adopt(files, tip, notice)
        sealed, line = _seal(replace(row, schema=SCHEMA, run=row.run or tag, id=tip.last_id + 1, prev=tip.last_hash))
        is_anchored = _announce(files, tip, replace(before, pending=sealed.hash), notice)
        seen = view.current(files)
        try:
            _write_both(files, line, before)
        except BaseException:
            with contextlib.suppress(Refused):
                settle.keep_anchor(files, before)
            raise
        after = replace(
            before, rows=before.rows + 1, size_bytes=tip.size_bytes + len(line), last_hash=sealed.hash, pending=None
        )
        # The row is safe: it is the pending one. If the anchor cannot be finished now, the next command finishes it.
        if is_anchored:
            with contextlib.suppress(Refused):
                settle.keep_anchor(files, after, is_durable=False)
        trouble = view.extend(files, sealed, seen)
    if trouble:
        notice(trouble)
    return sealed


def _announce(files: LedgerFiles, tip: settle.Tip, anchor: Anchor, notice: Callable[[str], None]) -> bool:
    """The write-ahead: from here on a crash leaves a row that is known. True when there is an anchor.

    Raises Refused when a ledger that has an anchor would get a row which it does not know.
    """
    if tip.anchor is not None:
        settle.keep_anchor(files, anchor)
        return True
    return settle.first_anchor(files, anchor, notice)


def _adopt(files: LedgerFiles, tip: settle.Tip, notice: Callable[[str], None]) -> Anchor:
    """A first anchor and mirror for a ledger that has none on this machine."""
    settle.make_mirror(files)
    return Anchor(rows=settle.count_rows(files.ledger), size_bytes=tip.size_bytes, last_hash=tip.last_hash)


def _seal(row: Experiment) -> tuple[Experiment, bytes]:
    """The row with its hash, and its line. The hash is over what a reader will find, so it is taken from the JSON."""
    digest = row_hash({k: v for k, v in decode_json(encode_row(row)).items() if k != "hash"})
    sealed = replace(row, hash=digest)
    return sealed, encode_row(sealed)


def _write_both(files: LedgerFiles, line: bytes, before: Anchor) -> None:
    """The line into mirror and ledger, each synced, or into neither. Raises OSError."""
    fds: list[int] = []
    try:
        for file in (files.mirror, files.ledger):
            fds.append(file.open(os.O_WRONLY | os.O_CREAT | os.O_APPEND))
        for fd in fds:
            atomic.write_all(fd, line)
            os.fsync(fd)
    except BaseException:
        for fd in reversed(fds):
            _cut(fd, before.size_bytes)
        raise
    finally:
        for fd in fds:
            os.close(fd)


def _cut(fd: int, size_bytes: int) -> None:
    """Back to the old length. If even that fails, the next command finds a torn or a pending line and ends it."""
    with contextlib.suppress(OSError):
        os.ftruncate(fd, size_bytes)
        os.fsync(fd)
