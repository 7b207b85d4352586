"""How a worker process is started: its argument list, its environment, and what it may read."""

from __future__ import annotations

import contextlib
import os
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path

from mjolnir.sandbox.arena import Arena

_PASSED_ON = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "LD_LIBRARY_PATH")
"""Environment that makes libraries work on this machine; nothing else of the parent's environment is passed on."""
_READABLE = ("/usr", "/lib", "/lib64", "/bin", "/etc/ld.so.cache", "/proc/cpuinfo", "/proc/meminfo", "/proc/self",
             "/sys/devices/system/cpu", "/dev/null", "/dev/zero", "/dev/urandom")  # fmt: skip


def worker_environment(scratch: Path) -> dict[str, str]:
    """All that a worker sees of an environment; the same for a check and for a timed call."""
    work = str(scratch / "work")
    return {
        "PATH": "/usr/bin:/bin",
        "HOME": work,
        "TMPDIR": work,
        "NUMBA_CACHE_DIR": work,
        "LC_ALL": "C.UTF-8",
        **{name: "1" for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")},
        **{name: os.environ[name] for name in _PASSED_ON if name in os.environ},
    }


def worker_argv(
    scratch: Path, arena: Arena, *, commands: int, answers: int, memory_bytes: int, leg: str, needs_numba: bool
) -> list[str]:
    """`commands` and `answers`: the worker's ends of the two pipes. `leg`: candidate, triton_interpreter, or a trusted
    one."""
    numbers = {
        "commands": commands,
        "answers": answers,
        "arena": arena.fd,
        "arena-bytes": arena.size_bytes,
        "memory-bytes": memory_bytes,
        "parent": os.getpid(),
    }
    argv = [sys.executable, "-I", "-B", "-u", "-m", "mjolnir.worker.serve", "--scratch", str(scratch / "work")]
    argv += [f"--{name}={value}" for name, value in numbers.items()]
    argv += [f"--readable={path}" for path in readable_paths(scratch)]
    argv += ["--leg", leg, *(["--numba"] if needs_numba else [])]
    return argv + (["--keeps-read-search"] if not is_readable_by_all(interpreter_folders()) else [])


def readable_paths(scratch: Path) -> list[str]:
    """What a worker may read: the system's libraries, this Python with its packages, and its own scratch folder."""
    return [*_READABLE, str(scratch), *interpreter_folders()]


def interpreter_folders() -> list[str]:
    """Where this Python, its libraries and its packages lie."""
    paths = sysconfig.get_paths()
    folders = {sys.prefix, sys.base_prefix, sys.exec_prefix, paths["stdlib"], paths["purelib"], paths["platlib"]}
    return sorted(os.path.realpath(f) for f in folders)


def is_readable_by_all(folders: Sequence[str]) -> bool:
    """True when every folder and each folder above it may be entered by any user."""
    for folder in folders:
        for path in (Path(folder), *Path(folder).parents):
            with contextlib.suppress(OSError):
                if not path.stat().st_mode & 0o001:
                    return False
    return True


def write_scratch(scratch: Path, kernel: bytes | None) -> Path:
    """A folder that holds the kernel (read-only for the worker) and an empty one that it may write."""
    scratch.chmod(0o755)
    work = scratch / "work"
    work.mkdir()
    work.chmod(0o777)
    path = scratch / "kernel.py"
    if kernel is not None:
        path.write_bytes(kernel)
        path.chmod(0o444)
    return path
