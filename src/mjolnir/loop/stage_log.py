"""The log of one evaluation: which stage it reached when, and what the kernel printed before a crash."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from mjolnir.loop.surroundings import Surroundings
from mjolnir.store.atomic import disk_errors, make_folder
from mjolnir.store.inflight import Inflight, begin_inflight, clear_inflight, enter_stage
from mjolnir.targets.protocol import Observe, Progress

LOGS = "research/logs"


class StageLog:
    """A file that grows with the evaluation. It stays where the evaluation was killed or `keep` was called."""

    def __init__(self, root: Path, name: str, around: Surroundings) -> None:
        self.name = f"{LOGS}/{name}.log"
        self._path = root / self.name
        self._around = around
        self._is_kept = False

    def say(self, text: str) -> None:
        """Add a line with the time. Raises Refused E_DISK_FULL, E_READ_ONLY."""
        self._write(f"{self._around.timestamp()} {text}\n")

    def keep(self, text: str) -> None:
        """Add the kernel's own words, whole, and leave the file there."""
        self._is_kept = True
        self._write(text if text.endswith("\n") else f"{text}\n")

    def discard(self) -> None:
        """Remove the file unless it is kept."""
        if not self._is_kept:
            with contextlib.suppress(OSError):
                self._path.unlink(missing_ok=True)

    def _write(self, text: str) -> None:
        with disk_errors(self._path):
            make_folder(self._path.parent)
            with self._path.open("a", encoding="utf-8", errors="backslashreplace") as file:
                file.write(text)


@contextlib.contextmanager
def in_flight(
    root: Path, *, name: str, commit: str, hypothesis: str, around: Surroundings
) -> Iterator[tuple[StageLog, Observe]]:
    """While the block runs, research/.inflight.json says what is evaluated and which stage it reached.

    Yields the log and an observer of the target's steps. Whatever ends the block, but a kill, leaves no file behind,
    except a log that was kept.
    """
    log = StageLog(root, name, around)
    try:
        log.say(f"evaluating {commit}")
        state = begin_inflight(
            root, commit=commit, hypothesis=hypothesis, stage="start", started=around.timestamp(), log=log.name
        )
        yield log, _Stages(root, state, log, around).observe
    finally:
        clear_inflight(root)
        log.discard()


class _Stages:
    """Writes a stage down when it begins, and passes every step on."""

    def __init__(self, root: Path, state: Inflight, log: StageLog, around: Surroundings) -> None:
        self._root = root
        self._state = state
        self._log = log
        self._around = around

    def observe(self, step: Progress) -> None:
        if step.stage != self._state.stage:
            self._state = enter_stage(self._root, self._state, step.stage)
            self._log.say(step.stage)
        self._around.observe(step)
