"""Workers of a race start and compile side by side on all cores, before the clock; then all are pinned to one core."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from mjolnir.core.model import Crashed
from mjolnir.process import kill_group
from mjolnir.targets.cpu_leg import Leg

StartLeg = Callable[[Leg], Crashed | None]


def usable_cores() -> frozenset[int]:
    """The cores that this process may use now; empty where the system does not say."""
    return frozenset(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else frozenset()


def start_together(legs: Sequence[Leg], start: StartLeg, cores: frozenset[int]) -> list[Crashed | None]:
    """What `start` answers for each leg, as many at once as there are cores; then every worker is stopped.

    An error or Ctrl-C ends all workers first, so that nobody waits for a kernel that compiles for ever.
    """
    for leg in legs:
        _allow(leg.worker.pid, cores)
    with ThreadPoolExecutor(max_workers=max(1, len(cores))) as pool:
        futures = [pool.submit(start, leg) for leg in legs]
        try:
            answers = [future.result() for future in futures]
        except BaseException:
            for future, leg in zip(futures, legs, strict=True):
                future.cancel()
                kill_group(leg.worker.pid)
            raise
    for leg in legs:
        leg.worker.pause()
    return answers


def pin_stopped(legs: Sequence[Leg], core: int | None) -> None:
    """Pin every thread of the stopped workers to `core`; a thread that they start later inherits it."""
    if core is None:
        return
    for leg in legs:
        done: set[int] = set()
        while tasks := _tasks(leg.worker.pid) - done:
            for task in tasks:
                _allow(task, frozenset({core}))
            done |= tasks


def _tasks(pid: int) -> set[int]:
    with contextlib.suppress(OSError):
        return {int(name) for name in os.listdir(Path("/proc") / str(pid) / "task")}
    return set()


def _allow(task: int, cores: frozenset[int]) -> None:
    if cores:
        with contextlib.suppress(OSError):
            os.sched_setaffinity(task, cores)
