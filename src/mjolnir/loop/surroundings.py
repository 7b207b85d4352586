"""What the loop is given instead of reaching for it: a place to say things and a clock."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from mjolnir.targets.protocol import Observe, Progress


def _say_nothing(text: str) -> None:
    del text


def _observe_nothing(step: Progress) -> None:
    del step


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """`notice` takes a sentence for the user, `observe` a step of long work; `now` is the time of day and may go back,
    `elapsed_s` only goes on."""

    notice: Callable[[str], None] = _say_nothing
    observe: Observe = _observe_nothing
    now: Callable[[], datetime] = _now
    elapsed_s: Callable[[], float] = time.monotonic

    def timestamp(self) -> str:
        """Now, as ISO 8601 with seconds."""
        return self.now().isoformat(timespec="seconds")
