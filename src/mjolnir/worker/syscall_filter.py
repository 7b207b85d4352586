"""A seccomp filter: the calls that a kernel computing on its arguments has no use for answer "not permitted".

The program is classic BPF, built by hand because it is ten lines and the worker must load no library for it. Layout of
the data it reads: linux/seccomp.h (number, architecture, instruction pointer, six arguments).
"""

from __future__ import annotations

import ctypes
import errno
import os

_PR_SET_SECCOMP, _MODE_FILTER = 22, 2
_LOAD, _JUMP_EQUAL, _JUMP_GREATER_EQUAL, _JUMP_ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _ERRNO, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_NUMBER_OFFSET, _ARCH_OFFSET, _ARGUMENT0_OFFSET = 0, 4, 16
_CLONE_THREAD = 0x00010000
_X32_BIT = 0x40000000
_PR_SET_PDEATHSIG = 1

_AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_DENIED = {
    # fork vfork execve execveat socket socketpair ptrace process_vm_readv process_vm_writev kill tkill
    # unshare setns mount umount2 pivot_root chroot bpf perf_event_open userfaultfd io_uring_setup open_by_handle_at
    # keyctl add_key request_key sched_setaffinity sched_setscheduler sched_setparam sched_setattr setpriority
    # setsid setpgid pidfd_open pidfd_send_signal pidfd_getfd, and all that outlives a process: System V shared memory,
    # semaphores and queues, POSIX queues
    "x86_64": (57, 58, 59, 322, 41, 53, 101, 310, 311, 62, 200, 272, 308, 165, 166, 155, 161, 321, 298, 323, 425, 304,
               250, 248, 249, 203, 144, 142, 314, 141, 112, 109, 434, 424, 438,
               29, 30, 31, 64, 65, 66, 67, 68, 69, 70, 71, 220, 240),
    "aarch64": (221, 281, 198, 199, 117, 270, 271, 129, 130, 97, 268, 40, 39, 41, 51, 280, 241, 282, 425, 265,
                219, 217, 218, 122, 119, 118, 274, 140, 157, 154, 434, 424, 438,
                180, 186, 187, 188, 189, 190, 191, 192, 193, 194, 195, 196, 197),
}  # fmt: skip
_CLONE = {"x86_64": 56, "aarch64": 220}
_CLONE3 = 435
_TGKILL = {"x86_64": 234, "aarch64": 131}
_PRCTL = {"x86_64": 157, "aarch64": 167}


class _Instruction(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint16), ("jt", ctypes.c_uint8), ("jf", ctypes.c_uint8), ("k", ctypes.c_uint32))


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_uint16), ("instructions", ctypes.POINTER(_Instruction)))


def install_syscall_filter(libc: ctypes.CDLL) -> bool:
    """Install the filter for this process and its threads. False where the machine or its kernel has none."""
    machine = os.uname().machine
    if machine not in _AUDIT_ARCH:
        return False
    instructions = _instructions(machine, os.getpid())
    array = (_Instruction * len(instructions))(*(_Instruction(*i) for i in instructions))
    program = _Program(len(instructions), array)
    return bool(libc.prctl(_PR_SET_SECCOMP, _MODE_FILTER, ctypes.byref(program), 0, 0) == 0)


def _instructions(machine: str, pid: int) -> list[tuple[int, int, int, int]]:
    not_permitted = (_RETURN, 0, 0, _ERRNO | errno.EPERM)
    program = [
        (_LOAD, 0, 0, _ARCH_OFFSET),
        (_JUMP_EQUAL, 1, 0, _AUDIT_ARCH[machine]),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER_OFFSET),
        (_JUMP_GREATER_EQUAL, 0, 1, _X32_BIT),  # x86's second call table would walk around the list below
        (_RETURN, 0, 0, _KILL),
    ]
    for number in _DENIED[machine]:
        program += [(_JUMP_EQUAL, 0, 1, number), not_permitted]
    # glibc tries clone3 first, whose flags a filter cannot see, and falls back to clone when told that it is missing.
    program += [(_JUMP_EQUAL, 0, 1, _CLONE3), (_RETURN, 0, 0, _ERRNO | errno.ENOSYS)]
    # A thread is fine (the parent's witness counts its time), a process is not.
    program += _check_argument(_CLONE[machine], (_JUMP_ANY_BIT, 1, 0, _CLONE_THREAD))
    # abort() signals its own process; any other is out of reach.
    program += _check_argument(_TGKILL[machine], (_JUMP_EQUAL, 1, 0, pid))
    # The order to die with the parent stands.
    program += [
        (_JUMP_EQUAL, 0, 4, _PRCTL[machine]),
        (_LOAD, 0, 0, _ARGUMENT0_OFFSET),
        (_JUMP_EQUAL, 0, 1, _PR_SET_PDEATHSIG),
        not_permitted,
        (_RETURN, 0, 0, _ALLOW),
    ]
    return [*program, (_RETURN, 0, 0, _ALLOW)]


def _check_argument(number: int, test: tuple[int, int, int, int]) -> list[tuple[int, int, int, int]]:
    """Deny call `number` unless `test` on its first argument holds (then it is allowed at once)."""
    return [
        (_JUMP_EQUAL, 0, 4, number),
        (_LOAD, 0, 0, _ARGUMENT0_OFFSET),
        test,
        (_RETURN, 0, 0, _ERRNO | errno.EPERM),
        (_RETURN, 0, 0, _ALLOW),
    ]
