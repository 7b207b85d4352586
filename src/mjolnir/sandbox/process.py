"""One worker as a confined process: start it, load a leg, point it at a case, call it. The clock here is the only one.

Whatever the worker does comes back as a Reply; nothing that it prints or answers is trusted beyond raw output bytes.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any

from mjolnir.process import Child, spawn
from mjolnir.sandbox.arena import Arena, Slot, open_arena
from mjolnir.sandbox.fds import move_fd
from mjolnir.sandbox.launch import worker_argv, worker_environment, write_scratch
from mjolnir.sandbox.pipes import Pipes

_TEXT_BYTES = 1 << 16
_NOT_OF_THE_PROTOCOL = "the worker's answer is not of the protocol"


class ReplyKind(IntEnum):
    """The status byte of the worker (0 to 5), or what the parent saw of its end."""

    DONE = 0
    FAILED = 1
    UNSUPPORTED = 2
    CONTRACT = 3
    NO_DECODE = 4
    BAD_SOURCE = 5
    GONE = 100
    LATE = 101
    GARBAGE = 102


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """`out`: raw bytes of the output, only with DONE; `seconds`: from the command to the answer's last byte."""

    kind: ReplyKind
    seconds: float
    out: bytes = b""
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerLimits:
    """Bounds of one worker."""

    memory_bytes: int
    arena_bytes: int
    call_limit_s: float = 60.0


class Worker:
    """A started worker. Not for two threads at once.

    After a reply of GONE, LATE or GARBAGE it is asked nothing more: an answer that came later could pass for another.
    """

    def __init__(self, child: Child, arena: Arena, pipes: Pipes, limits: WorkerLimits, kernel_path: Path) -> None:
        self.arena = arena
        self._kernel_path = kernel_path
        self.pid = child.pid
        self._child = child
        self._pipes = pipes
        self._limits = limits
        self._out_size_bytes = 0
        self._broken: Reply | None = None

    @property
    def log(self) -> str:
        """What the worker printed, bounded: data for people."""
        return self._child.log.text()

    def wait_ready(self, deadline: float) -> Reply:
        """DONE when the worker has its walls up. Anything else is this machine's fault: no kernel was read yet."""
        return self._keep(self._stand(deadline))

    def _stand(self, deadline: float) -> Reply:
        start = time.perf_counter()
        try:
            is_standing = self._pipes.read(1, deadline) == b"\0"
        except TimeoutError:
            return _late(start, "the worker did not start in time")
        except EOFError:
            return self._gone(start)
        seconds = time.perf_counter() - start
        if is_standing:
            return Reply(kind=ReplyKind.DONE, seconds=seconds)
        return Reply(kind=ReplyKind.GARBAGE, seconds=seconds, text=_NOT_OF_THE_PROTOCOL)

    def load(self, deadline: float) -> Reply:
        """Load the leg: for a candidate, execute its file. `deadline` on time.monotonic()."""
        return self._say(b"L", {"path": str(self._kernel_path)}, deadline)

    def bind(self, slots: Mapping[str, Slot], scalars: Mapping[str, float], deadline: float) -> Reply:
        """Point the worker at the arrays of a case (q, kv_cache, page_table, seq_lens, out)."""
        self._out_size_bytes = slots["out"].size_bytes
        arrays = {name: [s.offset_bytes, s.shape, s.dtype] for name, s in slots.items()}
        return self._say(b"C", {"arrays": arrays, "scalars": dict(scalars)}, deadline)

    def call(self, deadline: float) -> Reply:
        """One call of decode. The clock runs from before the command to after the last byte of the output."""
        limit = min(deadline, time.monotonic() + self._limits.call_limit_s)
        return self._exchange(b"G", self._out_size_bytes, limit)

    def pause(self) -> None:
        """Stop every thread of the worker, so that it takes nothing from whoever is timed now. Ends with `resume`."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let a paused worker go on."""
        self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        if self._child.poll() is None:  # else its id may belong to another process by now
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def cpu_seconds(self) -> float | None:
        """CPU time of the worker and its threads as the kernel counts it; None where that cannot be read."""
        if sys.platform != "linux":
            return None
        try:
            return time.clock_gettime((~self.pid << 3) | 2)  # clock_getcpuclockid(3): the process's scheduler clock
        except OSError:
            return None

    def _say(self, command: bytes, message: Mapping[str, Any], deadline: float) -> Reply:
        data = json.dumps(message).encode()
        return self._exchange(command + len(data).to_bytes(4, "little") + data, 0, deadline)

    def _exchange(self, command: bytes, payload_bytes: int, deadline: float) -> Reply:
        if self._broken is not None:
            return self._broken
        start = time.perf_counter()
        try:
            if self._pipes.has_unread():
                text = "the worker wrote an answer that nobody asked for"
                return self._keep(Reply(kind=ReplyKind.GARBAGE, seconds=0.0, text=text))
            start = time.perf_counter()
            self._pipes.write(command, deadline)
            status = self._pipes.read(1, deadline)
            data = self._pipes.read(payload_bytes, deadline) if status == b"\0" else b""
        except TimeoutError:
            return self._keep(_late(start, "no answer within the time limit"))
        except (EOFError, BrokenPipeError):
            return self._keep(self._gone(start))
        seconds = time.perf_counter() - start
        if status == b"\0":
            return Reply(kind=ReplyKind.DONE, seconds=seconds, out=data)
        return self._keep(self._failure(status[0], start, deadline))

    def _failure(self, status: int, start: float, deadline: float) -> Reply:
        seconds = time.perf_counter() - start
        garbage = Reply(kind=ReplyKind.GARBAGE, seconds=seconds, text=_NOT_OF_THE_PROTOCOL)
        if status > ReplyKind.BAD_SOURCE:
            return garbage
        try:
            size_bytes = int.from_bytes(self._pipes.read(4, deadline), "little")
            if size_bytes > _TEXT_BYTES:
                return garbage
            text = self._pipes.read(size_bytes, deadline).decode("utf-8", "replace")
        except TimeoutError:
            return _late(start, "half an answer, then silence")
        except EOFError:
            return self._gone(start)
        return Reply(kind=ReplyKind(status), seconds=seconds, text=text)

    def _keep(self, reply: Reply) -> Reply:
        if reply.kind >= ReplyKind.GONE:
            self._broken = reply
        return reply

    def _gone(self, start: float) -> Reply:
        seconds = time.perf_counter() - start
        status = self._child.kill()
        end = f"signal {-status}" if status < 0 else f"exit code {status}"
        return Reply(kind=ReplyKind.GONE, seconds=seconds, text=f"the worker left before its answer ({end})")


def _late(start: float, text: str) -> Reply:
    return Reply(kind=ReplyKind.LATE, seconds=time.perf_counter() - start, text=text)


@contextlib.contextmanager
def start_worker(
    limits: WorkerLimits, *, kernel: bytes | None, leg: str = "candidate", needs_numba: bool = False
) -> Iterator[Worker]:
    """A fresh confined worker for `kernel` (None: for a trusted leg), run as `leg`; killed when the block ends."""
    with contextlib.ExitStack() as stack:
        scratch = Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="mjolnir-worker-", ignore_cleanup_errors=True))
        )
        kernel_path = write_scratch(scratch, kernel)
        arena = stack.enter_context(open_arena(limits.arena_bytes))
        command_read, command_write = os.pipe()
        answer_read, answer_write = os.pipe()
        for fd in (command_write, answer_read):
            stack.callback(os.close, fd)
        command_read, answer_write = move_fd(command_read), move_fd(answer_write)
        pipes = Pipes(command_write, answer_read)
        argv = worker_argv(
            scratch,
            arena,
            commands=command_read,
            answers=answer_write,
            memory_bytes=limits.memory_bytes,
            leg=leg,
            needs_numba=needs_numba,
        )
        try:
            child = stack.enter_context(
                spawn(
                    argv, cwd=scratch, env=worker_environment(scratch), pass_fds=(command_read, answer_write, arena.fd)
                )
            )
        finally:
            os.close(command_read)
            os.close(answer_write)
        yield Worker(child, arena, pipes, limits, kernel_path)
