"""Is this ledger the one the anchor remembers, and may the rows beyond it be believed?"""

from __future__ import annotations

import os

from mjolnir.errors import Refused
from mjolnir.store.anchor import Anchor, others_published
from mjolnir.store.chain import Link, follow, read_link, walk
from mjolnir.store.ledger_files import LEDGER, LedgerFiles
from mjolnir.store.row_file import RowFile, count_lines

_COMPARE_BYTES = 1 << 20


def require_one_history(ledger: RowFile, mirror: RowFile) -> None:
    """The shorter of ledger and mirror is the beginning of the longer. Raises Refused E_LEDGER with file and line."""
    common_bytes = min(ledger.size_bytes(), mirror.size_bytes())
    if not common_bytes:
        return
    fds = [ledger.open(), mirror.open()]
    try:
        number, start_bytes = 1, 0
        while start_bytes < common_bytes:
            step = min(_COMPARE_BYTES, common_bytes - start_bytes)
            one, other = (os.pread(fd, step, start_bytes) for fd in fds)
            if one != other:
                number += one[: _first_difference(one, other)].count(b"\n")
                break
            number += one.count(b"\n")
            start_bytes += step
        else:
            return
    finally:
        for fd in fds:
            os.close(fd)
    for file in (ledger, mirror):
        for link in walk(file, None):
            if link.number > number:
                break
    raise ledger.damage(number, f"differs from its copy in {mirror.path}")


def _first_difference(one: bytes, other: bytes) -> int:
    return next(place for place, (a, b) in enumerate(zip(one, other, strict=True)) if a != b)


def require_vouched(file: RowFile, anchor: Anchor | None, files: LedgerFiles) -> int:
    """The count of rows of `file`. Raises Refused E_LEDGER when the anchor remembers others, or does not know some."""
    rows = sum(count_lines(block) for block in file.blocks())
    if anchor is None:
        return rows
    last = _anchored_link(file, anchor)
    if (last.hash if last else None) != anchor.last_hash:
        raise _changed(file, anchor, rows, files)
    beyond = [line for block in file.blocks(anchor.size_bytes) for line in block.split(b"\n")[:-1] if line.strip()]
    if len(beyond) != rows - anchor.rows:
        raise _changed(file, anchor, rows, files)
    for number, line in enumerate(beyond, start=anchor.rows + 1):
        last = follow(file, number, line, last)
    if beyond and last is not None and not _is_vouched(anchor, files, rows, last.hash):
        what = "is a row that no mjolnir on this machine is known to have written"
        raise file.damage(anchor.rows + 1, f"{what} (anchor: {files.anchor})")
    return rows


def _anchored_link(file: RowFile, anchor: Anchor) -> Link | None:
    """The link of the last row that the anchor knows; None where there is no sound row at that place."""
    if anchor.rows == 0 or file.size_bytes() < anchor.size_bytes:
        return None
    fd = file.open()
    try:
        return read_link(anchor.rows, _line_ending_at(fd, anchor.size_bytes))
    except ValueError:
        return None
    finally:
        os.close(fd)


def _line_ending_at(fd: int, end_bytes: int) -> bytes:
    """The line whose newline is the byte before `end_bytes`."""
    step = 1 << 16
    while True:
        start_bytes = max(0, end_bytes - step)
        data = os.pread(fd, end_bytes - start_bytes, start_bytes)
        head, _, line = data[:-1].rpartition(b"\n")
        if head or start_bytes == 0:
            return line if data.endswith(b"\n") else b""
        step *= 2


def _is_vouched(anchor: Anchor, files: LedgerFiles, rows: int, last_hash: str) -> bool:
    """True for the one row that was being written when a process died, and for rows of another user."""
    for known in (anchor, *others_published(files.writers)):
        if known.pending == last_hash and known.rows == rows - 1:
            return True
        if known.last_hash == last_hash and known.rows == rows:
            return True
    return False


def _changed(file: RowFile, anchor: Anchor, rows: int, files: LedgerFiles) -> Refused:
    """The refusal for a ledger that is not the remembered one; the first bad line is named where one shows."""
    for _ in walk(file, None):
        pass
    return Refused(
        "E_LEDGER",
        f"{file.shown} holds {rows} rows, but {anchor.rows} were recorded (anchor: {files.anchor}): "
        "rows were removed or replaced",
        f"restore {LEDGER} from a copy (research/runs/ if it was exported); mjolnir explain E_LEDGER",
    )
