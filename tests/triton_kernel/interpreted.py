"""Functions in a process of their own in which Triton interprets: the switch counts only before triton is imported.

One server process imports torch, triton and the modules below once and forks for each call, so that what a call changes
(the interpreter's arithmetic, the allocator, a broken kernel's damage to memory) ends with the call, and a crash is an
answer.
"""

from __future__ import annotations

import importlib
import os
import pickle
import signal
import subprocess
import sys
import traceback
from pathlib import Path

ENVIRONMENT = {
    "TRITON_INTERPRET": "1",
    "TRITON_DEFAULT_FP_FUSION": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}

PRELOADED = ("arithmetic", "kernel_runs", "kernel_shapes")
"""What calls need, imported once and not in each fork."""


class Died(Exception):
    """The call's process was ended by the signal that is named."""


class Interpreted:
    """`interpreted("module:function", name=value)` answers what the function answers in the other process.

    Values and answers are pickled, so plain values and numpy arrays. Raises Died, and AssertionError with the other
    process's traceback where the function raised.
    """

    def __init__(self) -> None:
        self._server = subprocess.Popen(
            [sys.executable, str(Path(__file__))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **ENVIRONMENT},
        )

    def __call__(self, function, *, limit_s=300, **values):
        pickle.dump((function, limit_s, values), self._server.stdin)
        self._server.stdin.flush()
        kind, answer = pickle.load(self._server.stdout)
        if kind == "died":
            raise Died(f"{function}: {answer}")
        assert kind == "value", answer
        return answer

    def close(self) -> None:
        self._server.stdin.close()
        self._server.wait(timeout=30)


def _call_in_fork(function, limit_s, values):
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        signal.alarm(limit_s)
        with os.fdopen(writer, "wb") as pipe:
            pickle.dump(_call(function, values), pipe)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        answer = pipe.read()
    _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status):
        return "died", signal.Signals(os.WTERMSIG(status)).name
    return pickle.loads(answer)


def _call(function, values):
    module, _, name = function.partition(":")
    try:
        return "value", getattr(importlib.import_module(module), name)(**values)
    except Exception:  # noqa: BLE001  # whatever it is, the caller shows it
        return "raised", traceback.format_exc()


def _serve() -> None:
    """Answers requests from stdin until it closes. What a kernel prints goes to stderr."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    import torch

    torch.set_num_threads(1)
    for module in PRELOADED:
        importlib.import_module(module)
    while True:
        try:
            function, limit_s, values = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        pickle.dump(_call_in_fork(function, limit_s, values), answers)
        answers.flush()


if __name__ == "__main__":
    _serve()
