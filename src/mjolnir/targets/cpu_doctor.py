"""What the cpu target needs, and which walls stand around a worker here."""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

from mjolnir.config import TargetSection
from mjolnir.core.workload import PagedDecode
from mjolnir.sandbox.launch import interpreter_folders, is_readable_by_all
from mjolnir.targets.cpu_arena import kv_cache_bytes
from mjolnir.targets.cpu_machine import choose_core, tool_version
from mjolnir.targets.protocol import Check

_COPIES = 8
"""Of the longest KV cache: the parent's, the legs' mirrors, and one arena a worker."""


def cpu_checks(section: TargetSection, workload: PagedDecode) -> list[Check]:
    """In the order in which a user would mend them."""
    return [_packages(), _memory(section, workload), _core(), _walls()]


def find_missing(section: TargetSection, workload: PagedDecode) -> Check | None:
    """The first precondition without which nothing can be measured; None: all are there."""
    return next((c for c in (_packages(), _memory(section, workload)) if not c.ok), None)


def _packages() -> Check:
    missing = [name for name in ("numpy", "ml_dtypes", "numba") if tool_version(name) is None]
    if missing:
        hint = "pip install 'mjolnir-autoresearch[cpu]'"
        return Check(name="cpu packages", ok=False, found=f"{', '.join(missing)} not installed", hint=hint)
    found = ", ".join(f"{name} {tool_version(name)}" for name in ("numpy", "ml_dtypes", "numba"))
    return Check(name="cpu packages", ok=True, found=found)


def _memory(section: TargetSection, workload: PagedDecode) -> Check:
    longest = max(section.lengths)
    needed = _COPIES * kv_cache_bytes(workload, workload.batch * workload.pages(longest) + 2)
    free = _free_bytes()
    found = f"{needed / 2**30:.1f} GiB needed for L={longest}, {free / 2**30:.1f} GiB free" if free else "unknown"
    is_enough = not free or needed < free
    hint = "" if is_enough else "shorten [targets.cpu] lengths in mjolnir.toml, or free memory"
    return Check(name="memory", ok=is_enough, found=found, hint=hint)


def _free_bytes() -> int:
    """MemAvailable; 0 where the system does not say."""
    try:
        text = Path("/proc/meminfo").read_text(encoding="ascii")
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in text.splitlines() if line.startswith("MemAvailable:")), 0)


def _core() -> Check:
    core = choose_core()
    found = f"core {core} for the workers, the rest for the clock" if core is not None else "no core to set apart"
    return Check(
        name="cores", ok=True, found=found, hint="" if core is not None else "expect more scatter: two cores are better"
    )


def _walls() -> Check:
    """Which of the worker's walls this system offers (worker/confine.py puts them up)."""
    if sys.platform != "linux":
        return Check(name="worker walls", ok=True, found="resource limits only", hint="use Linux for untrusted agents")
    walls = ["resource limits", "seccomp" if Path("/proc/sys/kernel/seccomp").exists() else "no seccomp"]
    has_landlock = _landlock_version() > 0
    walls.append("Landlock" if has_landlock else "no Landlock")
    is_lowered = os.getuid() == 0 and (has_landlock or is_readable_by_all(interpreter_folders()))
    walls.append("another user" if is_lowered else "your own user")
    return Check(name="worker walls", ok=True, found=", ".join(walls))


def _landlock_version() -> int:
    """What landlock_create_ruleset(2) answers, as the worker will ask it: 0 or less means that there is none."""
    return int(ctypes.CDLL(None).syscall(444, None, 0, 1))
