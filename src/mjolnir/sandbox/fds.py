"""File descriptors that go to a worker have numbers that say nothing: not which worker it is, nor among how many."""

from __future__ import annotations

import fcntl
import os
import random
import resource

_LOWEST, _HIGHEST = 64, 900
"""Above what this process has open as a rule, and below FD_SETSIZE, where select ends."""


def move_fd(fd: int) -> int:
    """`fd` under a random number, not inherited; the old number is closed. Where few are allowed it stays as it is."""
    allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    highest = _HIGHEST if allowed == resource.RLIM_INFINITY else min(_HIGHEST, allowed - _LOWEST)
    if highest <= _LOWEST:
        return fd
    moved = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, random.SystemRandom().randint(_LOWEST, highest))
    os.close(fd)
    return moved
