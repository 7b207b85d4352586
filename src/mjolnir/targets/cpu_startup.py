"""Workers start side by side on all cores, before the clock; then all are stopped and pinned to one core."""

from __future__ import annotations

import contextlib
import os
import random
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from mjolnir.core.model import Crashed, Tampered
from mjolnir.process import kill_group
from mjolnir.targets.cpu_leg import Leg

Finding = Crashed | Tampered
StartLeg = Callable[[Leg], Finding | None]


def usable_cores() -> frozenset[int]:
    """The cores that this process may use now; empty where the system does not say."""
    return frozenset(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else frozenset()


def in_any_order(count: int) -> list[int]:
    """0 to count - 1, shuffled beyond guessing: the place of a worker in the start-up tells it nothing of its role."""
    return random.SystemRandom().sample(range(count), count)


def start_together(legs: Sequence[Leg], start: StartLeg, cores: frozenset[int]) -> list[Finding | None]:
    """What `start` answers for each leg, as many at once as there are cores, in any order; every worker may use all
    `cores` until `stop_and_pin`. Once a leg failed, legs that have not begun are left alone.

    An error or Ctrl-C ends all workers first, so that nobody waits for a kernel that compiles for ever.
    """
    has_failed = threading.Event()

    def begin(leg: Leg) -> Finding | None:
        found = None if has_failed.is_set() else start(leg)
        if found is not None:
            has_failed.set()
        return found

    for leg in legs:
        _allow(leg.worker.pid, cores)
    with ThreadPoolExecutor(max(1, len(cores)), initializer=_allow, initargs=(0, cores)) as pool:
        futures = {i: pool.submit(begin, legs[i]) for i in in_any_order(len(legs))}
        try:
            return [futures[i].result() for i in range(len(legs))]
        except BaseException:
            for i, leg in enumerate(legs):
                futures[i].cancel()
                kill_group(leg.worker.pid)
            raise


def stop_and_pin(legs: Sequence[Leg], core: int | None) -> None:
    """Stop the workers and pin every thread of theirs to `core`; a thread that they start later inherits it."""
    for leg in legs:
        leg.worker.pause()
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
