"""A confined worker that is asked one thing about a kernel and answers once, with bounded JSON.

It has the walls of the timed workers (worker/confine.py) and nothing of theirs to lose: no inputs, no clock, no seed.
What it answers is the kernel's own word as soon as the kernel ran in it: whoever reads it checks every field.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from mjolnir.errors import EnvironmentFault
from mjolnir.process import Child, spawn
from mjolnir.sandbox.fds import move_fd
from mjolnir.sandbox.launch import (
    interpreter_folders,
    is_readable_by_all,
    readable_paths,
    worker_environment,
    write_scratch,
)
from mjolnir.sandbox.pipes import Pipes

MAX_ANSWER_BYTES = 64 << 20


class NoAnswer(Exception):
    """The worker ended, fell silent or broke the protocol: one line that says which."""


class AskedWorker:
    """A started worker. It answers once."""

    def __init__(self, child: Child, pipes: Pipes) -> None:
        self._child = child
        self._pipes = pipes

    @property
    def log(self) -> str:
        """What the worker printed, bounded: data for people."""
        return self._child.log.text()

    def read_answer(self, deadline: float) -> bytes:
        """The answer's JSON, whoever wrote it. `deadline` on time.monotonic().

        Raises NoAnswer, and EnvironmentFault when the worker does not start: no kernel was read yet.
        """
        self._wait_ready(deadline)
        try:
            size_bytes = int.from_bytes(self._pipes.read(4, deadline), "little")
            if size_bytes > MAX_ANSWER_BYTES:
                raise NoAnswer(f"the worker announced an answer of {size_bytes:,} bytes")
            return self._pipes.read(size_bytes, deadline)
        except TimeoutError:
            raise NoAnswer("no answer within the time limit; the worker was killed") from None
        except EOFError:
            raise NoAnswer(f"the worker left before its answer ({self._end()})") from None

    def _wait_ready(self, deadline: float) -> None:
        try:
            if self._pipes.read(1, deadline) == b"\0":
                return
            why = "its first byte is not of the protocol"
        except TimeoutError:
            why = "it did not start in time"
        except EOFError:
            why = self._end()
        printed = self.log.strip().splitlines()
        cause = f": {printed[-1][:200]}" if printed else ""
        raise EnvironmentFault("E_WORKER", f"a worker does not start here: {why}{cause}", "mjolnir doctor")

    def _end(self) -> str:
        status = self._child.kill()
        return f"signal {-status}" if status < 0 else f"exit code {status}"


@contextlib.contextmanager
def ask_worker(
    module: str, words: Mapping[str, str], *, kernel: bytes, request: Mapping[str, Any], memory_bytes: int
) -> Iterator[AskedWorker]:
    """Start `python -m module` on `kernel`, with `words` as options and `request` in a file that it may read.

    The module is told where kernel, request, scratch and its answer pipe are; it is killed when the block ends.
    """
    with contextlib.ExitStack() as stack:
        folder = tempfile.TemporaryDirectory(prefix="mjolnir-worker-", ignore_cleanup_errors=True)
        scratch = Path(stack.enter_context(folder))
        kernel_path = write_scratch(scratch, kernel)
        request_path = scratch / "request.json"
        request_path.write_text(json.dumps(request), encoding="utf-8")
        request_path.chmod(0o444)
        (command_read, command_write), (answer_read, answer_write) = os.pipe(), os.pipe()
        stack.callback(os.close, answer_read)
        stack.callback(os.close, command_write)
        answer_write = move_fd(answer_write)
        argv = asking_argv(
            module, words, scratch, answers=answer_write, kernel=kernel_path, request=request_path,
            memory_bytes=memory_bytes,
        )  # fmt: skip
        try:
            child = stack.enter_context(
                spawn(argv, cwd=scratch, env=worker_environment(scratch), pass_fds=(answer_write,))
            )
        finally:
            os.close(command_read)
            os.close(answer_write)
        yield AskedWorker(child, Pipes(command_write, answer_read))


def asking_argv(
    module: str,
    words: Mapping[str, str],
    scratch: Path,
    *,
    answers: int,
    kernel: Path,
    request: Path,
    memory_bytes: int,
) -> list[str]:
    """The worker's command line. `answers`: its end of the pipe."""
    argv = [sys.executable, "-I", "-B", "-u", "-m", module, "--scratch", str(scratch / "work")]
    argv += [f"--kernel={kernel}", f"--request={request}", f"--answers={answers}"]
    argv += [f"--memory-bytes={memory_bytes}", f"--parent={os.getpid()}"]
    argv += [f"--{name}={word}" for name, word in words.items()]
    argv += [f"--readable={path}" for path in readable_paths(scratch)]
    return argv + ([] if is_readable_by_all(interpreter_folders()) else ["--keeps-read-search"])
