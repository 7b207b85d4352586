"""Walls that the worker puts around itself before it reads the kernel: limits, a lower user, Landlock, seccomp.

Covered: no new process, no program start, no network, no signal to or look into another process, no file outside the
interpreter (reading) and the scratch folder (writing), no change of core, bounded memory. Not covered: reading what
the interpreter's own folders hold, burning time (the parent's clock and deadline see to that), side channels.
Each wall that this kernel or system lacks is skipped; `mjolnir doctor` says which stand.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import sys
from collections.abc import Iterable, Sequence

from mjolnir.worker.syscall_filter import install_syscall_filter

NOBODY_UID = 65534
_PR_SET_PDEATHSIG, _PR_SET_KEEPCAPS, _PR_SET_NO_NEW_PRIVS = 1, 8, 38
_SIGKILL = 9
_CAP_DAC_READ_SEARCH = 2
_CAPSET_BY_MACHINE = {"x86_64": 126, "aarch64": 91}
_LANDLOCK_CREATE, _LANDLOCK_ADD, _LANDLOCK_RESTRICT = 444, 445, 446
_READ_ACCESS = 1 | 4 | 8  # execute (shared libraries are mapped so), read file, read directory
_FS_ACCESS_BY_ABI = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1}
_FS_ACCESS_NEWEST = (1 << 16) - 1
_SCOPE_ABI = 6
_SCOPE_ALL = 3  # no abstract UNIX socket and no signal outside
_NOFILE = 256
_SCRATCH_FILE_BYTES = 64 << 20


class _RulesetAttr(ctypes.Structure):
    _fields_ = (("fs", ctypes.c_uint64), ("net", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class _PathRule(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("fd", ctypes.c_int32))


class _CapHeader(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _CapData(ctypes.Structure):
    _fields_ = (("effective", ctypes.c_uint32), ("permitted", ctypes.c_uint32), ("inheritable", ctypes.c_uint32))


def die_with_parent() -> None:
    """Ask Linux to kill this process when its parent dies, kill -9 included. The pipe's end is the other sign."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, _SIGKILL, 0, 0, 0)


def confine(*, memory_bytes: int, scratch: str, readable: Sequence[str], keeps_read_search: bool) -> None:
    """Put up every wall there is. `readable`: folders and files that may be read; `scratch` may be written.

    `keeps_read_search`: the interpreter lies in a folder that only root may enter, so the lower user keeps the one
    capability to read it; Landlock then bounds what that reaches. Without Landlock the user is not lowered then.
    """
    _limit_resources(memory_bytes)
    if sys.platform != "linux":
        return
    libc = ctypes.CDLL(None, use_errno=True)
    abi = _landlock_abi(libc)
    if os.getuid() == 0 and (abi > 0 or not keeps_read_search):
        with contextlib.suppress(PermissionError):  # root without the capability, in a container: the user stays
            _lower_user(libc, keeps_read_search=keeps_read_search)
    libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    if abi > 0:
        _restrict_files(libc, abi, readable=readable, writable=[scratch])
    die_with_parent()  # again: the kernel forgets it when the user changes
    install_syscall_filter(libc)


def _limit_resources(memory_bytes: int) -> None:
    wanted = [
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, _NOFILE),
        (resource.RLIMIT_FSIZE, _SCRATCH_FILE_BYTES),
        (resource.RLIMIT_AS, memory_bytes),
    ]
    for limit, value in wanted:
        with contextlib.suppress(ValueError, OSError):  # macOS refuses RLIMIT_AS
            resource.setrlimit(limit, (value, value))


def _lower_user(libc: ctypes.CDLL, *, keeps_read_search: bool) -> None:
    if keeps_read_search:
        libc.prctl(_PR_SET_KEEPCAPS, 1, 0, 0, 0)
    os.setgroups([])
    os.setresgid(NOBODY_UID, NOBODY_UID, NOBODY_UID)
    os.setresuid(NOBODY_UID, NOBODY_UID, NOBODY_UID)
    number = _CAPSET_BY_MACHINE.get(os.uname().machine)
    if keeps_read_search and number is not None:
        bit = 1 << _CAP_DAC_READ_SEARCH
        data = (_CapData * 2)(_CapData(bit, bit, 0), _CapData(0, 0, 0))
        libc.syscall(number, ctypes.byref(_CapHeader(0x20080522, 0)), ctypes.byref(data))


def _landlock_abi(libc: ctypes.CDLL) -> int:
    """The Landlock version of this kernel; 0 or less: none."""
    return int(libc.syscall(_LANDLOCK_CREATE, None, 0, 1))


def _restrict_files(libc: ctypes.CDLL, abi: int, *, readable: Iterable[str], writable: Iterable[str]) -> None:
    everything = _FS_ACCESS_BY_ABI.get(abi, _FS_ACCESS_NEWEST)
    attr = _RulesetAttr(everything, 0, _SCOPE_ALL if abi >= _SCOPE_ABI else 0)
    size = ctypes.sizeof(attr) if abi >= _SCOPE_ABI else 8
    ruleset = libc.syscall(_LANDLOCK_CREATE, ctypes.byref(attr), size, 0)
    if ruleset < 0:
        return
    for path in readable:
        _allow(libc, ruleset, path, _READ_ACCESS)
    for path in writable:
        _allow(libc, ruleset, path, everything)
    libc.syscall(_LANDLOCK_RESTRICT, ruleset, 0)
    os.close(ruleset)


def _allow(libc: ctypes.CDLL, ruleset: int, path: str, access: int) -> None:
    try:
        fd = os.open(path, getattr(os, "O_PATH", 0) | os.O_CLOEXEC)
    except OSError:
        return
    if not os.path.isdir(path):
        access &= 1 | 2 | 4  # what a file can have: execute, write, read
    rule = _PathRule(access, fd)
    libc.syscall(_LANDLOCK_ADD, ruleset, 1, ctypes.byref(rule), 0)
    os.close(fd)
