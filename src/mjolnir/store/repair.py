"""`audit --repair`: damaged lines are moved aside, and the other copy's sound line takes their place. Nothing else.

A line is damaged when no reader can take it as a row: torn, not JSON, not a row's keys. A row that can be read and was
edited, removed, added or moved is no damage: it stays where it is, and so does every finding about it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

from mjolnir.errors import Refused
from mjolnir.store import atomic
from mjolnir.store.chain import read_link
from mjolnir.store.codec import decode_json, decode_row
from mjolnir.store.ledger_files import RESEARCH, LedgerFiles
from mjolnir.store.lock import exclusive
from mjolnir.store.row_file import RowFile

_MAX_NAMED = 20
"""Line numbers in one sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Mend:
    """`lines` are to be the file's, `aside` the damaged ones with the number that each had in the file."""

    lines: list[bytes]
    aside: list[tuple[int, bytes]]
    restored: int


def repair_ledger(files: LedgerFiles, notice: Callable[[str], None]) -> int:
    """Mend the ledger from its mirror and the mirror from the ledger; how many damaged lines there were.

    What was done is told to `notice`, file and line named. Without a damaged line nothing is written, not even a lock.
    Raises Refused E_DISK_FULL or E_READ_ONLY with the files as they were, E_LEDGER where one cannot be read.
    """
    if not any(_needs_repair(_read(file)) for file in (files.ledger, files.mirror)):
        return 0
    with exclusive(files.lock):
        return _repair(files.ledger, files.mirror, files, notice) + _repair(files.mirror, files.ledger, files, notice)


def _repair(file: RowFile, copy: RowFile, files: LedgerFiles, notice: Callable[[str], None]) -> int:
    data = _read(file)
    if not _needs_repair(data):
        return 0
    lines = _split(data)
    mend = _mend(lines, _damaged(lines), [line for line in _split(_read(copy)) if not _is_damaged(line)])
    with atomic.disk_errors(file.path):
        aside = _set_aside(files.research, mend.aside) if mend.aside else None
        try:
            atomic.write_atomic(file.path, b"".join(line + b"\n" for line in mend.lines))
        except BaseException:
            if aside is not None:
                with contextlib.suppress(OSError):
                    aside.unlink()
            raise
    notice(f"{file.shown}: {_told(mend, aside)}")
    return max(1, len(mend.aside))


def _told(mend: _Mend, aside: Path | None) -> str:
    if aside is None:
        return "the last line had no newline at its end: added"
    numbers = ", ".join(str(number) for number, _ in mend.aside[:_MAX_NAMED])
    more = " ..." if len(mend.aside) > _MAX_NAMED else ""
    back = f"{mend.restored} restored from the other copy" if mend.restored else "the other copy has nothing for it"
    return f"damaged line {numbers}{more} moved aside to {RESEARCH}/{aside.name}; {back}"


def _needs_repair(data: bytes) -> bool:
    return (bool(data) and not data.endswith(b"\n")) or any(_is_damaged(line) for line in _split(data))


def _mend(lines: list[bytes], damaged: set[int], copies: list[bytes]) -> _Mend:
    """Between two sound neighbours the copy's rows return, if there are no more of them than damaged lines: more would
    be rows that somebody removed."""
    places = {line: place for place, line in enumerate(copies)}
    kept: list[bytes] = []
    aside: list[tuple[int, bytes]] = []
    restored, gap = 0, 0
    for number, line in enumerate([*lines, None]):
        if number in damaged and line is not None:
            aside.append((number + 1, line))
            gap += 1
            continue
        between = _between(kept[-1] if kept else None, line, copies, places) if gap else []
        if 0 < len(between) <= gap:
            kept += between
            restored += len(between)
        gap = 0
        if line is not None:
            kept.append(line)
    return _Mend(lines=kept, aside=aside, restored=restored)


def _between(before: bytes | None, after: bytes | None, copies: list[bytes], places: dict[bytes, int]) -> list[bytes]:
    """The copy's rows between two neighbours (None: its start, its end), whose links hold; empty if it lacks one."""
    start = 0 if before is None else places.get(before, len(copies)) + 1
    end = len(copies) if after is None else places.get(after, -1)
    found = copies[start:end] if start < end else []
    return found if _fits([*([before] if before else []), *found, *([after] if after else [])]) else []


def _fits(lines: list[bytes]) -> bool:
    """True when each row holds its own hash and that of the row before it."""
    try:
        links = [read_link(0, line) for line in lines]
    except ValueError:
        return False
    return all(not b.has_hash or b.prev == a.hash for a, b in pairwise(links))


def _damaged(lines: list[bytes]) -> set[int]:
    """Places of the lines that are no rows."""
    return {place for place, line in enumerate(lines) if _is_damaged(line)}


def _is_damaged(line: bytes) -> bool:
    """True for what one of the readers cannot take."""
    try:
        decode_json(line)
        decode_row(line)
    except ValueError:
        return True
    return False


def _split(data: bytes) -> list[bytes]:
    """Every line that is not blank, a torn last one included."""
    return [line for line in data.split(b"\n") if line.strip()]


def _read(file: RowFile) -> bytes:
    if not file.size_bytes():
        return b""
    try:
        return file.path.read_bytes()
    except FileNotFoundError:
        return b""
    except OSError as e:
        raise Refused(
            "E_LEDGER", f"{file.shown} cannot be read: {e.strerror}", f"make it readable: chmod u+r '{file.path}'"
        ) from e


def _set_aside(folder: Path, lines: list[tuple[int, bytes]]) -> Path:
    """A new file research/ledger.damaged-<ts> with the bytes of the lines as they were."""
    atomic.make_folder(folder)
    data = b"".join(line + b"\n" for _, line in lines)
    stem = f"ledger.damaged-{datetime.now(UTC):%Y%m%dT%H%M%S}"
    attempt = 1
    while True:
        path = folder / (stem if attempt == 1 else f"{stem}-{attempt}")
        try:
            atomic.write_exclusive(path, data)
        except FileExistsError:
            attempt += 1
        else:
            return path
