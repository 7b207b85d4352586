"""Ctrl-C and SIGTERM end a command in order, and never in the middle of a row."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interruption:
    """The state of one command: interruptible until `close` is called."""

    def __init__(self) -> None:
        self._is_open = True

    def close(self) -> None:
        """From here on the command is carried to its end: a row is written whole, with its mirror, anchor and ref."""
        self._is_open = False

    def handle(self, number: int, frame: FrameType | None) -> None:
        """The signal handler. Only the first signal interrupts: a second one must not cut the cleaning up short."""
        del number, frame
        if self._is_open:
            self._is_open = False
            raise KeyboardInterrupt


@contextlib.contextmanager
def interruptible() -> Iterator[Interruption]:
    """SIGINT, SIGTERM and SIGHUP raise KeyboardInterrupt inside the block, unless the block has closed the door.

    (No exception of ours: a library that catches Exception in the middle of its work must not swallow it.)
    A signal that was ignored when the command started (nohup, a background job) stays ignored. Outside the main thread
    Python has no signal handlers, and nothing changes.
    """
    interruption = Interruption()
    if threading.current_thread() is not threading.main_thread():
        yield interruption
        return
    former = {s: signal.getsignal(s) for s in _SIGNALS}
    taken = [s for s in _SIGNALS if former[s] not in (signal.SIG_IGN, None)]
    try:
        for number in taken:
            signal.signal(number, interruption.handle)
        yield interruption
    finally:
        for number in taken:
            signal.signal(number, former[number])
