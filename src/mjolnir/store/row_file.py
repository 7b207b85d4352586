"""A file of rows, one a line: read from either end, appended to, never parsed further than asked."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from mjolnir.errors import Refused
from mjolnir.store import atomic
from mjolnir.store.foreign_text import one_line

T = TypeVar("T")
_BLOCK_BYTES = 1 << 18
"""Small enough for a core's cache."""
_TAIL_BLOCK_BYTES = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Tail:
    """The end of a file: its last whole lines without newlines, oldest first, and the bytes after the last newline."""

    lines: list[bytes]
    rest: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class RowFile:
    """`shown` is what messages call the file."""

    path: Path
    shown: str

    def size_bytes(self) -> int:
        """Its size; 0 when it is missing. Raises Refused E_LEDGER for anything but a regular file."""
        try:
            info = self.path.lstat()
        except (FileNotFoundError, NotADirectoryError):
            return 0
        except PermissionError as e:
            raise self._unreadable(e) from e
        if not stat.S_ISREG(info.st_mode):
            kind = "a symbolic link" if stat.S_ISLNK(info.st_mode) else "not a regular file"
            raise Refused("E_LEDGER", f"{self.shown} is {kind}", f"move it away: mv '{self.path}' '{self.path}.aside'")
        return info.st_size

    def open(self, flags: int = os.O_RDONLY) -> int:
        """A file descriptor. Raises Refused E_LEDGER where reading is forbidden, FileNotFoundError, OSError."""
        self.size_bytes()
        try:
            return atomic.open_durable(self.path, flags)
        except PermissionError as e:
            if flags == os.O_RDONLY:
                raise self._unreadable(e) from e
            raise

    def tail(self, count: int) -> Tail:
        """At most the last `count` whole lines, read backwards."""
        if not self.size_bytes():
            return Tail(lines=[], rest=b"")
        fd = self.open()
        try:
            start = os.fstat(fd).st_size
            data = b""
            while start > 0 and data.count(b"\n") <= count:
                step = min(start, max(_TAIL_BLOCK_BYTES, len(data)))
                start -= step
                data = os.pread(fd, step, start) + data
        finally:
            os.close(fd)
        *lines, rest = data.split(b"\n")
        whole = [line for line in (lines if start == 0 else lines[1:]) if line.strip()]
        return Tail(lines=whole[-count:] if count else [], rest=rest)

    def first_line(self) -> bytes | None:
        """The first whole line, None when there is none."""
        if not self.size_bytes():
            return None
        with os.fdopen(self.open(), "rb") as file:
            line = file.readline()
        return line[:-1] if line.endswith(b"\n") else None

    def blocks(self, start_bytes: int = 0) -> Iterator[bytes]:
        """Whole lines in pieces, from a place where a line starts; an unfinished last line is left out."""
        if not self.size_bytes():
            return
        fd = self.open()
        try:
            end = os.fstat(fd).st_size
            carried = b""
            while start_bytes < end:
                data = os.pread(fd, min(_BLOCK_BYTES, end - start_bytes), start_bytes)
                if not data:
                    return
                start_bytes += len(data)
                cut = data.rfind(b"\n") + 1
                if cut:
                    yield carried + data[:cut]
                    carried = data[cut:]
                else:
                    carried += data
        finally:
            os.close(fd)

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """(number from 1, line without newline) of every line that is not blank."""
        number = 0
        for block in self.blocks():
            for line in block.split(b"\n")[:-1]:
                number += 1
                if line.strip():
                    yield number, line

    def decode_all(self, decode_many: Callable[[bytes], list[T]], decode_one: Callable[[bytes], T]) -> list[T]:
        """Every row. Raises Refused E_LEDGER that names the first line which is not one."""
        found: list[T] = []
        for block in self.blocks():
            try:
                rows = decode_many(block)
            except ValueError:
                rows = []
            if len(rows) != count_lines(block):
                return [self.decode_line(decode_one, number, line) for number, line in self.lines()]
            found += rows
        return found

    def decode_line(self, decode_one: Callable[[bytes], T], number: int, line: bytes) -> T:
        """One line as a row. Raises Refused E_LEDGER with file and line."""
        try:
            return decode_one(line)
        except ValueError as e:
            raise self.damage(number, f"is not a row ({one_line(str(e), 120)})") from e

    def damage(self, number: int, what: str) -> Refused:
        """The refusal that names a line. A copy of every row lives in the mirror, so a bad file may be moved away."""
        return Refused(
            "E_LEDGER",
            f"{self.shown}:{number} {what}",
            f"move the file away (mv '{self.path}' '{self.path}.damaged') and run the command again: "
            "rows are restored from their copy where it is whole",
        )

    def _unreadable(self, error: OSError) -> Refused:
        return Refused("E_LEDGER", f"{self.shown} cannot be read: {error.strerror}", f"chmod u+r '{self.path}'")


def count_lines(block: bytes) -> int:
    """Lines of a block. No writer leaves a blank one, and looking for them would cost five times as much."""
    return block.count(b"\n")
