"""This host as a device: what it is, which core the workers get, and what else is running on it."""

from __future__ import annotations

import contextlib
import os
import platform
import time
from collections.abc import Iterable, Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

_LOOK_S = 0.2
"""A core's ticks are hundredths of a second: a shorter look says little."""
_CLEARLY_LESS = 0.3
"""Part of a core: a short task of the system does not move the workers."""
TIMED_NICENESS = -15
"""Above all ordinary work (0), below what the system itself may need (-20)."""
_TOOLS = ("numpy", "ml_dtypes", "numba", "llvmlite")


def read_fingerprint() -> dict[str, Any]:
    """Plain JSON values that stay equal while this is the same machine with the same tools."""
    return {
        "name": _cpu_name(),
        "machine": platform.machine(),
        "system": platform.system(),
        "cores": os.cpu_count() or 1,
        "power_mode": _read(Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")) or "unknown",
        "tools": {"python": platform.python_version(), **{t: v for t in _TOOLS if (v := tool_version(t))}},
    }


def tool_version(name: str) -> str | None:
    """The installed version of a package, without importing it; None when it is missing."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def choose_core() -> int | None:
    """The core that all workers share in turn: the last one, unless another has clearly less other load now.

    The same core every time: two cores of one machine need not be equally fast, and a change between two evaluations
    would look like a change of the kernel. None where cores cannot be chosen or there is only one.
    """
    if not hasattr(os, "sched_getaffinity"):
        return None
    allowed = sorted(os.sched_getaffinity(0))
    if len(allowed) < 2:
        return None
    before = {core: _core_ticks(core) for core in allowed}
    time.sleep(_LOOK_S)
    busy = {core: _busy_between(before[core], _core_ticks(core)) or 0.0 for core in allowed}
    quietest = min(reversed(allowed), key=lambda core: busy[core])
    return quietest if busy[allowed[-1]] - busy[quietest] > _CLEARLY_LESS else allowed[-1]


@contextlib.contextmanager
def keep_off(core: int | None) -> Iterator[None]:
    """Keep this process (clock, oracle) off the workers' core while the block runs."""
    if core is None:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, before - {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@contextlib.contextmanager
def raised_priority(pids: Iterable[int]) -> Iterator[None]:
    """The clock's process and `pids` go before other work on their cores while the block runs, where that is allowed.

    Usually only root may; others measure with what the machine leaves them, and the witness tells.
    """
    me = os.getpid()
    before = os.getpriority(os.PRIO_PROCESS, me)
    for pid in (me, *pids):
        with contextlib.suppress(PermissionError, ProcessLookupError):
            os.setpriority(os.PRIO_PROCESS, pid, TIMED_NICENESS)
    try:
        yield
    finally:
        with contextlib.suppress(PermissionError):
            os.setpriority(os.PRIO_PROCESS, me, before)


def busy_fraction(core: int | None, window_s: float = 0.1) -> float | None:
    """Share of `core` (or of all cores) that was busy during a window of sleep: 0 idle, 1 full; None if unknown."""
    before = _core_ticks(core)
    time.sleep(window_s)
    return _busy_between(before, _core_ticks(core))


def _busy_between(before: tuple[int, int] | None, after: tuple[int, int] | None) -> float | None:
    if before is None or after is None or after[1] <= before[1]:
        return None
    return (after[0] - before[0]) / (after[1] - before[1])


def _core_ticks(core: int | None) -> tuple[int, int] | None:
    """(busy, total) ticks of /proc/stat."""
    label = "cpu" if core is None else f"cpu{core}"
    for line in _read(Path("/proc/stat")).splitlines():
        words = line.split()
        if words and words[0] == label:
            ticks = [int(w) for w in words[1:9]]
            idle = ticks[3] + ticks[4]
            return sum(ticks) - idle, sum(ticks)
    return None


def _cpu_name() -> str:
    for line in _read(Path("/proc/cpuinfo")).splitlines():
        if line.startswith(("model name", "Model", "Hardware")):
            return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
