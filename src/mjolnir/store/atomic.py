"""Durable writes: a file is either the old one or the new one, and an append is whole or undone."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from mjolnir.errors import Refused

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


@contextlib.contextmanager
def disk_errors(what: Path) -> Iterator[None]:
    """Turn an OSError of a write to `what` into the two lines a person can act on.

    Raises Refused E_DISK_FULL or E_READ_ONLY.
    """
    try:
        yield
    except OSError as e:
        if e.errno in _FULL:
            raise Refused(
                "E_DISK_FULL",
                f"no room to write {what} ({e.strerror}); the old file is untouched",
                "free some space (df -h shows it), then run the command again",
            ) from e
        raise Refused(
            "E_READ_ONLY",
            f"{what} cannot be written: {e.strerror}",
            f"make {what.parent} writable for you, or run as its owner",
        ) from e


def make_folder(folder: Path) -> None:
    """Create `folder` and what is above it, and make its entry durable. A folder in a shared one is shared too."""
    if folder.is_dir():
        return
    make_folder(folder.parent)
    with contextlib.suppress(FileExistsError):
        folder.mkdir()
        shared = _shared_bits(folder.parent)
        if shared:
            folder.chmod(0o755 | shared)
        sync_folder(folder.parent)


def open_durable(path: Path, flags: int) -> int:
    """A file descriptor, never through a link. A new file in a shared folder is writable for those who share it.

    Raises OSError.
    """
    existed = os.path.lexists(path)
    fd = os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    if not existed and flags & os.O_CREAT:
        shared = _shared_bits(path.parent)
        if shared:
            with contextlib.suppress(PermissionError):
                os.fchmod(fd, 0o644 | shared)
        sync_folder(path.parent)
    return fd


def write_all(fd: int, data: bytes) -> None:
    """Write every byte; the kernel may take them in pieces. Raises OSError."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def write_atomic(path: Path, data: bytes, *, mode: int | None = None, is_durable: bool = True) -> os.stat_result:
    """Replace `path` by `data` in one step; the new file's stat. `mode` None: as the folder is shared. Raises OSError.

    `is_durable` False leaves the rename to the kernel: after a power cut the old file may be there, never a half one.
    """
    return _replace(path, lambda fd: write_all(fd, data), mode, is_durable)


def copy_atomic(source_fd: int, size_bytes: int, path: Path) -> None:
    """Replace `path` by the first `size_bytes` of an open file, in one step. Raises OSError."""
    _replace(path, lambda fd: copy_range(source_fd, 0, size_bytes, fd), None, True)


def _replace(path: Path, fill: Callable[[int], None], mode: int | None, is_durable: bool) -> os.stat_result:
    """A scratch file beside `path`, filled, takes its place; when anything fails it is gone."""
    scratch = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    fd = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fill(fd)
        os.fchmod(fd, mode if mode is not None else 0o644 | _shared_bits(path.parent))
        os.fsync(fd)
        os.replace(scratch, path)
        info = os.fstat(fd)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(scratch)
        raise
    finally:
        os.close(fd)
    if is_durable:
        sync_folder(path.parent)
    return info


def copy_range(source_fd: int, start_bytes: int, end_bytes: int, fd: int) -> None:
    """Write bytes start..end of one open file at the place where the other one stands. Raises OSError."""
    while start_bytes < end_bytes:
        data = os.pread(source_fd, min(1 << 20, end_bytes - start_bytes), start_bytes)
        if not data:
            return
        write_all(fd, data)
        start_bytes += len(data)


def write_exclusive(path: Path, data: bytes) -> None:
    """Create `path` with `data` in one step. Raises FileExistsError when it is there, OSError else."""
    scratch = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    fd = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    try:
        write_all(fd, data)
        os.fsync(fd)
        _link(scratch, path)
    finally:
        os.close(fd)
        with contextlib.suppress(OSError):
            os.unlink(scratch)
    sync_folder(path.parent)


def _link(scratch: Path, path: Path) -> None:
    """Give a finished file its name, never another file's. Not every file system knows hard links."""
    try:
        os.link(scratch, path)
    except OSError as e:
        if e.errno not in (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS):
            raise
        if path.exists():
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path)) from e
        os.rename(scratch, path)


def sync_folder(folder: Path) -> None:
    """fsync a folder, so that the names in it survive a power cut. Raises OSError."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _shared_bits(folder: Path) -> int:
    """The group's and the others' write permission of a folder."""
    return folder.stat().st_mode & 0o022
