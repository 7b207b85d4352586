"""The only file that starts processes: argument lists (never a shell), time limits, process groups, bounded logs."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

LOG_HEAD_BYTES = 48 * 1024
LOG_TAIL_BYTES = 16 * 1024
"""A worker may print a gigabyte; this much of its start and its end is kept."""
_CHUNK_BYTES = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """A process that ended. `returncode` is negative for a signal, as subprocess has it."""

    returncode: int
    stdout: bytes
    stderr: bytes
    timed_out: bool = False

    @property
    def ok(self) -> bool:
        return self.returncode == 0 and not self.timed_out


def run(
    argv: Sequence[str | Path],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    stdin: bytes = b"",
    timeout_s: float = 120.0,
) -> Finished:
    """Run `argv` to its end, in a process group of its own that dies with the time limit or with Ctrl-C.

    Raises FileNotFoundError when the program does not exist.
    """
    with subprocess.Popen(
        [os.fspath(a) for a in argv],
        cwd=cwd,
        env=None if env is None else dict(env),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as child:
        try:
            stdout, stderr = child.communicate(stdin, timeout=timeout_s)
        except subprocess.TimeoutExpired:
            kill_group(child.pid)
            stdout, stderr = child.communicate()
            return Finished(returncode=-signal.SIGKILL, stdout=stdout, stderr=stderr, timed_out=True)
        except BaseException:
            kill_group(child.pid)
            raise
    return Finished(returncode=child.returncode, stdout=stdout, stderr=stderr)


def kill_group(pid: int) -> None:
    """SIGKILL to the process group that `pid` leads; silent when it is gone."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


class BoundedLog:
    """Keeps the first LOG_HEAD_BYTES and the last LOG_TAIL_BYTES of what is fed to it, and counts the rest."""

    def __init__(self) -> None:
        self._head = bytearray()
        self._tail = bytearray()
        self.total_bytes = 0

    def feed(self, data: bytes) -> None:
        self.total_bytes += len(data)
        room = LOG_HEAD_BYTES - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        self._tail += data
        del self._tail[:-LOG_TAIL_BYTES]

    def text(self) -> str:
        """The log as text; a gap is named with its size."""
        dropped = self.total_bytes - len(self._head) - len(self._tail)
        gap = f"\n[... {dropped} bytes left out ...]\n".encode() if dropped > 0 else b""
        return bytes(self._head + gap + self._tail).decode("utf-8", "replace")


class Child:
    """A long-lived process that leads its own session. What it prints is kept as a bounded log, never parsed."""

    def __init__(self, popen: subprocess.Popen[bytes]) -> None:
        self._popen = popen
        self.pid = popen.pid
        self.log = BoundedLog()
        self._drain = threading.Thread(target=self._read_output, daemon=True)
        self._drain.start()

    def _read_output(self) -> None:
        assert self._popen.stdout is not None
        fd = self._popen.stdout.fileno()
        while data := os.read(fd, _CHUNK_BYTES):
            self.log.feed(data)

    def poll(self) -> int | None:
        """The exit status, or None while it runs."""
        return self._popen.poll()

    def kill(self) -> int:
        """SIGKILL to the whole group, reap, and return the exit status."""
        kill_group(self.pid)
        status = self._popen.wait()
        # A grandchild that left the group may hold the pipe open: wait for the log, but not for ever.
        self._drain.join(timeout=1.0)
        return status


@contextlib.contextmanager
def spawn(
    argv: Sequence[str | Path], *, cwd: Path, env: Mapping[str, str], pass_fds: Sequence[int] = ()
) -> Iterator[Child]:
    """Start `argv` in a new session with exactly `env` and `pass_fds`; it is killed when the block ends."""
    popen = subprocess.Popen(
        [os.fspath(a) for a in argv],
        cwd=cwd,
        env=dict(env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        pass_fds=tuple(pass_fds),
        start_new_session=True,
    )
    child = Child(popen)
    try:
        yield child
    finally:
        child.kill()
