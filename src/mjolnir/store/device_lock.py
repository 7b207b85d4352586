"""One evaluation at a time on a device of this machine, whatever user or repository it comes from."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import stat
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from mjolnir.errors import EnvironmentFault

_FOLDERS = (Path("/tmp"), Path("/var/tmp"))
"""Fixed, and not $TMPDIR: two users must meet in one folder."""
_MODE = 0o666


@contextlib.contextmanager
def device_lock(
    device: str, on_wait: Callable[[int | None], None] | None = None, *, folder: Path | None = None
) -> Iterator[None]:
    """Hold `device` (a name such as "cpu" or "cuda:0"). The kernel lets go of it when this process dies, however.

    `on_wait` is called once with the holder's pid (None: unknown) before waiting. Ctrl-C ends the waiting.
    Raises EnvironmentFault E_DEVICE_LOCK when the lock file is a link, no regular file, or closed to this user.
    """
    path = lock_path(device, folder)
    is_told = False
    while True:
        fd = _open(path)
        try:
            if not _try(fd):
                if on_wait is not None and not is_told:
                    on_wait(_holder(fd))
                    is_told = True
                fcntl.flock(fd, fcntl.LOCK_EX)
            # Somebody may have tidied the folder up meanwhile: then the lock is on a file that nobody else will find.
            if not _is_same_file(fd, path):
                continue
            _sign(fd)
            yield
            return
        finally:
            os.close(fd)


def lock_path(device: str, folder: Path | None = None) -> Path:
    """The lock file of a device."""
    place = folder or next((p for p in _FOLDERS if os.access(p, os.W_OK)), Path(tempfile.gettempdir()))
    return place / f"mjolnir-device-{re.sub(r'[^A-Za-z0-9_.-]', '-', device)[:64]}.lock"


def _open(path: Path) -> int:
    """The lock file, made if need be, open to every user.

    Opened without O_CREAT first: in a sticky folder the kernel may refuse that flag on another user's file
    (fs.protected_regular). Reading is enough for a lock.
    """
    flags = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    try:
        for access in (os.O_RDWR, os.O_RDONLY):
            with contextlib.suppress(PermissionError, FileNotFoundError):
                return _require_regular(os.open(path, access | flags), path)
        with contextlib.suppress(FileExistsError):
            fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | flags, _MODE)
            os.fchmod(fd, _MODE)  # the umask would keep the others out
            return fd
        return _require_regular(os.open(path, os.O_RDONLY | flags), path)
    except OSError as e:
        why = "is a symbolic link" if e.errno == errno.ELOOP else f"cannot be opened: {e.strerror}"
        raise _fault(path, why) from e


def _require_regular(fd: int, path: Path) -> int:
    if stat.S_ISREG(os.fstat(fd).st_mode):
        return fd
    os.close(fd)
    raise _fault(path, "is not a regular file")


def _fault(path: Path, why: str) -> EnvironmentFault:
    return EnvironmentFault(
        "E_DEVICE_LOCK", f"the device's lock file {path} {why}", f"look at it, then remove it: rm {path}"
    )


def _try(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as e:
        if e.errno not in (errno.EAGAIN, errno.EACCES):
            raise
        return False
    return True


def _holder(fd: int) -> int | None:
    """The pid in the file. Anybody may write there: it is for showing only."""
    text = os.pread(fd, 32, 0).split(b"\n")[0]
    return int(text) if text.isdigit() else None


def _sign(fd: int) -> None:
    """Leave this process's pid for those who wait; impossible on another user's read-only file, and then left out."""
    with contextlib.suppress(OSError):
        os.ftruncate(fd, 0)
        os.pwrite(fd, f"{os.getpid()}\n".encode(), 0)


def _is_same_file(fd: int, path: Path) -> bool:
    try:
        found = path.lstat()
    except FileNotFoundError:
        return False
    mine = os.fstat(fd)
    return (found.st_dev, found.st_ino) == (mine.st_dev, mine.st_ino)
