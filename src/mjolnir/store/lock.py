"""An exclusive lock between processes. The kernel lets go of it when its holder dies, however it dies."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path

from mjolnir.errors import Refused
from mjolnir.store import atomic

WAIT_S = 60.0
"""A holder needs milliseconds; who holds a ledger for a minute is stopped or stuck."""
_POLL_S = 0.002


@contextlib.contextmanager
def exclusive(path: Path, *, wait_s: float = WAIT_S) -> Iterator[None]:
    """Hold the lock file `path`, made if need be. Raises Refused E_LEDGER when another process keeps it too long."""
    deadline = time.monotonic() + wait_s
    while True:
        with atomic.disk_errors(path):
            fd = _open(path)
        try:
            _take(fd, path, deadline)
            # Somebody may have removed the file while we waited: then the lock is on a file nobody else will find.
            if _is_same_file(fd, path):
                yield
                return
        finally:
            os.close(fd)


def _open(path: Path) -> int:
    """The lock needs no write permission: another user's lock file will do."""
    try:
        return os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        atomic.make_folder(path.parent)
        return os.open(path, os.O_RDONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)


def _take(fd: int, path: Path, deadline: float) -> None:
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except OSError as e:
            if e.errno not in (errno.EAGAIN, errno.EACCES):
                raise
        if time.monotonic() > deadline:
            raise Refused(
                "E_LEDGER",
                f"another process has held the ledger's lock {path} for {WAIT_S:.0f} s",
                f"find it: fuser -v {path}",
            )
        time.sleep(_POLL_S)


def _is_same_file(fd: int, path: Path) -> bool:
    try:
        found = path.stat()
    except FileNotFoundError:
        return False
    mine = os.fstat(fd)
    return (found.st_dev, found.st_ino) == (mine.st_dev, mine.st_ino)
