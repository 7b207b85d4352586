"""The parent's two pipes to a worker: bytes in and out, each with a deadline, so that no worker can hold the parent."""

from __future__ import annotations

import os
import select
import time

_SPIN_READS = 20_000
"""Some 10 ms of looking without sleep: most answers come within it, and a wake-up would be noise in a short call."""


class Pipes:
    """`commands` is written, `answers` is read. Deadlines are on time.monotonic()."""

    def __init__(self, commands: int, answers: int) -> None:
        self._commands = commands
        self._answers = answers
        os.set_blocking(commands, False)
        os.set_blocking(answers, False)

    def has_unread(self) -> bool:
        """True when a byte came that nobody asked for; it is taken. Raises EOFError when the worker ended.

        An end of the pipe is told from a byte by reading it: a worker that just left can be read before it is reaped.
        """
        try:
            part = os.read(self._answers, 1)
        except BlockingIOError:
            return False
        if not part:
            raise EOFError
        return True

    def write(self, data: bytes, deadline: float) -> None:
        """All of `data`. Raises TimeoutError when the worker does not take it, BrokenPipeError when it ended."""
        left = memoryview(data)
        while left:
            try:
                left = left[os.write(self._commands, left) :]
            except BlockingIOError:
                self._wait([], [self._commands], deadline)

    def read(self, size_bytes: int, deadline: float) -> bytes:
        """Exactly `size_bytes`. Raises TimeoutError past `deadline`, EOFError when the worker ended."""
        data = bytearray()
        spins = _SPIN_READS
        while len(data) < size_bytes:
            try:
                part = os.read(self._answers, size_bytes - len(data))
            except BlockingIOError:
                spins -= 1
                if spins < 0:
                    self._wait([self._answers], [], deadline)
                continue
            if not part:
                raise EOFError
            data += part
        return bytes(data)

    @staticmethod
    def _wait(readable: list[int], writable: list[int], deadline: float) -> None:
        left = deadline - time.monotonic()
        if left <= 0 or not any(select.select(readable, writable, [], left)):
            raise TimeoutError
