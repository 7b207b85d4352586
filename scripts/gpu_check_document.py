"""The one JSON that gpu_check.py writes, and the minutes it may take. Standard library only. Part of gpu_check.py."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

SCHEMA = "mjolnir.gpu-check/1"


class Budget:
    """The wall-clock time of the whole check. `clock` answers seconds and only grows."""

    def __init__(self, minutes: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.total_s = 60 * minutes
        self._clock = clock
        self._began = clock()

    @property
    def spent_s(self) -> float:
        return self._clock() - self._began

    @property
    def left_s(self) -> float:
        return self.total_s - self.spent_s

    def has_room_for(self, seconds: float, *, reserve_s: float = 0.0) -> bool:
        """Whether a part of that length can end before the last `reserve_s`, which are another part's."""
        return seconds <= self.left_s - reserve_s


class Document:
    """What is known so far; on disk after each `write`, which replaces the file in one step."""

    def __init__(self, path: Path, budget: Budget, **head: Any) -> None:
        self.path = path
        self._budget = budget
        self._lock = threading.RLock()
        self._data: dict[str, Any] = {
            "schema": SCHEMA,
            "ok": False,
            "complete": False,
            "started": datetime.now(UTC).isoformat(timespec="seconds"),
            "budget_s": budget.total_s,
            **head,
            "cases": [],
            "skipped": [],
        }

    def put(self, **entries: Any) -> None:
        with self._lock:
            self._data.update(entries)

    def add(self, key: str, entry: Any) -> None:
        """Appends to a list."""
        with self._lock:
            self._data.setdefault(key, []).append(entry)

    def skip(self, part: str, why: str) -> None:
        """Names what was not done: nothing is left out silently."""
        say(f"skipped: {part}: {why}", self._budget)
        self.add("skipped", {"part": part, "why": why})

    @property
    def skipped(self) -> int:
        return len(self._data["skipped"])

    def write(self) -> None:
        """Raises OSError when the place cannot be written."""
        with self._lock:
            self._data["seconds"] = round(self._budget.spent_s, 1)
            text = json.dumps(self._data, indent=1, allow_nan=False)
            temporary = self.path.with_name(f".{self.path.name}.{os.getpid()}")
            temporary.write_text(text + "\n", encoding="utf-8")
            os.replace(temporary, self.path)


class Endable(Protocol):
    def end(self) -> None: ...


class Watchdog:
    """Ends the process when the budget is over, with the document written: what runs then is named as not ended.

    Each part begins only where its estimate fits, so to be here means that something hangs: exit code 1.
    """

    def __init__(self, document: Document, budget: Budget, leave: Callable[[int], None] = os._exit) -> None:
        self.part = "start"
        self.children: list[Endable] = []
        """Processes that are ended with this one."""
        self._document = document
        self._leave = leave
        self._timer = threading.Timer(max(0.0, budget.left_s), self.bark)
        self._timer.daemon = True

    def start(self) -> None:
        self._timer.start()

    def stop(self) -> None:
        self._timer.cancel()

    def end_children(self) -> None:
        for child in self.children:
            child.end()

    def bark(self) -> None:
        self._document.put(ok=False, ended_by_budget=self.part)
        self._document.skip(self.part, "did not end before the budget was over")
        self._document.write()
        complain(f"the budget is over and '{self.part}' has not ended", "rerun it with --match, or give more --minutes")
        self.end_children()
        self._leave(1)


def say(text: str, budget: Budget) -> None:
    """A progress line on stderr, after the seconds so far."""
    print(f"[{budget.spent_s:6.1f} s] {text}", file=sys.stderr, flush=True)


def complain(what: str, hint: str) -> None:
    """The two lines of every error."""
    print(f"error: {what}\nhint: {hint}", file=sys.stderr, flush=True)


def in_one_line(error: BaseException) -> str:
    """ "ValueError: its text", cut to the point."""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
