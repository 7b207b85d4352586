"""Processes that a worker left behind: found by session, by parentage and through /proc, never by what they say."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path

_PR_SET_CHILD_SUBREAPER = 36
_PROC = Path("/proc")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessInfo:
    """One line of /proc/PID/stat; `start_ticks` tells a reused pid from the old one."""

    pid: int
    parent: int
    session: int
    state: str
    start_ticks: int


def become_subreaper() -> None:
    """Orphans of a worker become children of this process instead of init, so that they can be found and reaped."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def read_processes() -> dict[int, ProcessInfo]:
    """Every process that /proc shows; empty where there is no /proc."""
    found: dict[int, ProcessInfo] = {}
    if not _PROC.is_dir():
        return found
    for entry in os.listdir(_PROC):
        if entry.isdigit():
            with contextlib.suppress(OSError, ValueError, IndexError):
                text = (_PROC / entry / "stat").read_text(errors="replace")
                words = text[text.rindex(")") + 2 :].split()
                found[int(entry)] = ProcessInfo(
                    pid=int(entry),
                    state=words[0],
                    parent=int(words[1]),
                    session=int(words[3]),
                    start_ticks=int(words[19]),
                )
    return found


def find_leftovers(worker_pid: int, known_children: frozenset[int]) -> list[int]:
    """Pids that `worker_pid` started: in its session, below it, or orphans that fell to this process since.

    `known_children`: children of this process from before the worker was started, and its other workers.
    """
    processes = read_processes()
    below = {worker_pid}
    grew = True
    while grew:
        more = {p.pid for p in processes.values() if p.parent in below or p.session == worker_pid} - below
        below |= more
        grew = bool(more)
    me = os.getpid()
    orphans = {p.pid for p in processes.values() if p.parent == me and p.pid not in known_children}
    return sorted(p for p in (below | orphans) - {worker_pid} if processes[p].state != "Z")


def own_children() -> frozenset[int]:
    """Pids of this process's children now."""
    me = os.getpid()
    return frozenset(p.pid for p in read_processes().values() if p.parent == me)


def kill_all(pids: list[int]) -> None:
    """SIGKILL to each and reap those that are ours."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
    for pid in pids:
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, 0)
