"""Ctrl-C and SIGTERM end a command in order, and never in the middle of a row."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

from mjolnir.errors import Interrupted

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
    """SIGINT, SIGTERM and SIGHUP end the block with Interrupted, unless the block has closed the door.

    Inside the block they are a KeyboardInterrupt: a library that catches Exception in the middle of its work must not
    swallow it. A signal that was ignored when the command started (nohup, a background job) stays ignored. Outside the
    main thread Python has no signal handlers, and nothing changes.
    """
    interruption = Interruption()
    try:
        with _handled(interruption):
            yield interruption
    except KeyboardInterrupt:
        raise Interrupted from None


@contextlib.contextmanager
def _handled(interruption: Interruption) -> Iterator[None]:
    """The handlers are in place while the block runs."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    former = {s: signal.getsignal(s) for s in _SIGNALS}
    taken = [s for s in _SIGNALS if former[s] not in (signal.SIG_IGN, None)]
    try:
        for number in taken:
            signal.signal(number, interruption.handle)
        yield
    finally:
        for number in taken:
            signal.signal(number, former[number])
