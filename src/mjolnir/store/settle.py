"""Bring ledger, mirror and anchor to one state: finish what a crash left, restore what was lost, refuse the rest."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from dataclasses import dataclass

from mjolnir.errors import Refused
from mjolnir.store import atomic, judge_tail, torn
from mjolnir.store.anchor import Anchor, publish, read_anchor, write_anchor
from mjolnir.store.chain import read_link
from mjolnir.store.ledger_files import LEDGER, LedgerFiles
from mjolnir.store.lock import exclusive
from mjolnir.store.row_file import RowFile, count_lines

Notice = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tip:
    """The end of a settled ledger. `anchor` is None when no anchor knows this ledger; then `rows` was not counted."""

    rows: int | None
    last_id: int
    last_hash: str | None
    size_bytes: int
    anchor: Anchor | None


def settle(files: LedgerFiles, notice: Notice) -> Tip:
    """The tip for a reader; takes the lock only when there is something to mend. Raises Refused E_LEDGER."""
    tip = _agreed_tip(files)
    if tip is None:
        with exclusive(files.lock):
            tip = settle_locked(files, notice)
    return tip


def settle_locked(files: LedgerFiles, notice: Notice) -> Tip:
    """The tip for who holds the lock. Raises Refused E_LEDGER where rows were removed, edited or added by others."""
    tip = _agreed_tip(files)
    if tip is not None:
        return tip
    torn.mend_ledger(files, notice)
    torn.mend_mirror(files)
    judge_tail.require_one_history(files.ledger, files.mirror)
    anchor = read_anchor(files.anchor) if files.anchor else None
    longer = max(files.mirror, files.ledger, key=RowFile.size_bytes)
    rows = judge_tail.require_vouched(longer, anchor, files)
    _level(files, longer, notice, has_anchor=anchor is not None)
    tip = _tip(longer, anchor)
    if anchor is None:
        return tip
    settled = Anchor(rows=rows, size_bytes=tip.size_bytes, last_hash=tip.last_hash, run_hash=anchor.run_hash)
    if settled != anchor:
        # Where it cannot be written the old one still says the same, and reading must not depend on it.
        with contextlib.suppress(Refused):
            keep_anchor(files, settled)
    return Tip(rows=rows, last_id=tip.last_id, last_hash=tip.last_hash, size_bytes=tip.size_bytes, anchor=settled)


def keep_anchor(files: LedgerFiles, anchor: Anchor, *, is_durable: bool = True) -> None:
    """Write the anchor, and tell the other users of a shared repository. Raises Refused E_DISK_FULL or E_READ_ONLY."""
    if files.anchor is None:
        return
    with atomic.disk_errors(files.anchor):
        write_anchor(files.anchor, anchor, is_durable=is_durable)
    if files.is_shared():
        with atomic.disk_errors(files.writers):
            publish(files.writers, anchor)


def first_anchor(files: LedgerFiles, anchor: Anchor, notice: Notice) -> bool:
    """The anchor of a ledger that has none yet; False, and a notice, on a machine that has no place for it."""
    why = "this user has no home"
    if files.anchor is not None:
        try:
            keep_anchor(files, anchor)
        except Refused as e:
            why = e.message
        else:
            return True
    notice(f"no anchor for this ledger: {why}; rows that are cut off later will not show")
    return False


def count_rows(file: RowFile) -> int:
    """Every line of a file, parsed or not."""
    return sum(count_lines(block) for block in file.blocks())


def _agreed_tip(files: LedgerFiles) -> Tip | None:
    """The tip when ledger, mirror and anchor agree, looking at nothing but their ends; None when they do not."""
    size_bytes = files.ledger.size_bytes()
    anchor = read_anchor(files.anchor) if files.anchor else None
    mirror_bytes = files.mirror.size_bytes()
    if mirror_bytes != size_bytes and (mirror_bytes or anchor):
        return None
    tail = files.ledger.tail(1)
    if tail.rest or (mirror_bytes and files.mirror.tail(1) != tail):
        return None
    tip = _tip(files.ledger, anchor)
    if anchor is None:
        return tip
    agrees = (anchor.size_bytes, anchor.last_hash, anchor.pending) == (size_bytes, tip.last_hash, None)
    return tip if agrees else None


def _tip(file: RowFile, anchor: Anchor | None) -> Tip:
    """The end of one file. Raises Refused E_LEDGER when its last line is no sound row."""
    tail = file.tail(1)
    if not tail.lines:
        return Tip(rows=0, last_id=0, last_hash=None, size_bytes=file.size_bytes(), anchor=anchor)
    try:
        link = read_link(0, tail.lines[0])
    except ValueError as e:
        raise file.damage(count_rows(file), f"is not a sound row: {e}") from e
    rows = anchor.rows if anchor else None
    return Tip(rows=rows, last_id=link.id, last_hash=link.hash, size_bytes=file.size_bytes(), anchor=anchor)


def _level(files: LedgerFiles, longer: RowFile, notice: Notice, *, has_anchor: bool) -> None:
    """Make the shorter copy as long as the longer one, of which it is the beginning."""
    size_bytes, ledger_bytes, mirror_bytes = (f.size_bytes() for f in (longer, files.ledger, files.mirror))
    if ledger_bytes < size_bytes:
        before, after = count_rows(files.ledger), count_rows(longer)
        _extend(longer, files.ledger)
        notice(f"{LEDGER} held {before} of {after} rows: restored from its mirror under the git directory")
    # A ledger nobody has appended to yet (an old one, a copied one) gets its mirror with the first append.
    if mirror_bytes < size_bytes and (mirror_bytes or has_anchor):
        _extend(longer, files.mirror)
        notice("the ledger's mirror under the git directory was missing or shorter: written anew")


def _extend(source: RowFile, copy: RowFile) -> None:
    """Bring `copy`, the beginning of `source`, to its full length. Raises Refused E_DISK_FULL or E_READ_ONLY."""
    size_bytes, start_bytes = source.size_bytes(), copy.size_bytes()
    source_fd = source.open()
    try:
        with atomic.disk_errors(copy.path):
            if start_bytes == 0:
                atomic.make_folder(copy.path.parent)
                atomic.copy_atomic(source_fd, size_bytes, copy.path)
                return
            fd = atomic.open_durable(copy.path, os.O_WRONLY | os.O_APPEND)
            try:
                atomic.copy_range(source_fd, start_bytes, size_bytes, fd)
                os.fsync(fd)
            finally:
                os.close(fd)
    finally:
        os.close(source_fd)


def make_mirror(files: LedgerFiles) -> None:
    """Give a ledger that has none its mirror. Raises Refused E_DISK_FULL or E_READ_ONLY."""
    if files.ledger.size_bytes() and not files.mirror.size_bytes():
        _extend(files.ledger, files.mirror)
