"""A real confined worker, driven by hand."""

import contextlib
import os
import signal
import subprocess
import sys
import time

import pytest

from mjolnir.sandbox.arena import place
from mjolnir.sandbox.process import ReplyKind, WorkerLimits, start_worker

SIGNATURE = (
    "def decode(q, kv_cache, page_table, seq_lens, *, sm_scale, q_scale=1.0, k_scale=1.0, v_scale=1.0, out):\n    "
)
SHAPES = {
    "q": ((1, 4, 8), "bfloat16", 64),
    "kv_cache": ((3, 2, 2, 16, 8), "float8_e4m3fn", 3 * 2 * 2 * 16 * 8),
    "page_table": ((1, 2), "int32", 8),
    "seq_lens": ((1,), "int32", 4),
    "out": ((1, 4, 8), "bfloat16", 64),
}
SCALARS = {"sm_scale": 1.0, "q_scale": 1.0, "k_scale": 1.0, "v_scale": 1.0}
LIMITS = WorkerLimits(memory_bytes=2 << 30, arena_bytes=1 << 20, call_limit_s=20.0)


def soon():
    return time.monotonic() + 30


@contextlib.contextmanager
def ready_worker(body, head="", limits=LIMITS):
    kernel = f"{head}\n{SIGNATURE}{body}\n".encode()
    with start_worker(limits, kernel=kernel) as worker:
        assert worker.wait_ready(soon()).kind == ReplyKind.DONE
        assert worker.load(soon()).kind == ReplyKind.DONE
        assert worker.bind(place(SHAPES), SCALARS, soon()).kind == ReplyKind.DONE
        yield worker


def is_running(pid):
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_a_call_answers_with_the_bytes_of_out():
    with ready_worker("out[...] = q") as worker:
        slots = place(SHAPES)
        worker.arena.write(slots["q"], memoryview(bytes(range(64))))
        reply = worker.call(soon())
    assert reply.kind == ReplyKind.DONE
    assert reply.out == bytes(range(64))
    assert reply.seconds > 0


def test_a_worker_is_gone_when_its_block_ends():
    with ready_worker("pass") as worker:
        pid = worker.pid
        assert is_running(pid)
    assert not is_running(pid)


def test_a_call_that_never_returns_is_late_and_its_process_dies():
    with ready_worker("while True: pass") as worker:
        pid = worker.pid
        reply = worker.call(time.monotonic() + 0.3)
        assert reply.kind == ReplyKind.LATE
    assert not is_running(pid)


def test_the_environment_of_a_worker_holds_nothing_of_the_users(monkeypatch):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "plainly-fake-key")
    head = "import dataclasses\nos = dataclasses.sys.modules['os']"
    body = "raise ValueError(sorted(os.environ))"
    with ready_worker(body, head) as worker:
        text = worker.call(soon()).text
    assert "AWS_SECRET_ACCESS_KEY" not in text
    assert "TMPDIR" in text


def test_no_other_descriptor_is_inherited(tmp_path):
    with open(tmp_path / "secret", "w") as secret:
        os.set_inheritable(secret.fileno(), True)
        head = "import dataclasses\nos = dataclasses.sys.modules['os']"
        body = f"os.fstat({secret.fileno()})"
        with ready_worker(body, head) as worker:
            reply = worker.call(soon())
    assert reply.kind == ReplyKind.FAILED
    assert "Bad file descriptor" in reply.text


def test_an_answer_that_nobody_asked_for_is_garbage():
    head = "import dataclasses\nos = dataclasses.sys.modules['os']\n_n = []"
    body = (
        "_n.append(0)\n    if len(_n) == 1:\n        for fd in range(3, 1024):\n            try:\n"
        "                os.write(fd, bytes(500))\n            except OSError:\n                pass"
    )
    with ready_worker(body, head) as worker:
        worker.call(soon())
        assert worker.call(soon()).kind == ReplyKind.GARBAGE


def test_two_cases_lie_at_the_same_addresses():
    with ready_worker("out.view('uint64')[0, 0, 0] = q.__array_interface__['data'][0]") as worker:
        first = worker.call(soon()).out[:8]
        worker.bind(place(SHAPES), SCALARS, soon())
        assert worker.call(soon()).out[:8] == first


@pytest.mark.skipif(sys.platform != "linux", reason="kill -9 of a parent ends its workers through prctl on Linux alone")
def test_kill_9_of_the_parent_ends_the_worker(tmp_path):
    program = tmp_path / "parent.py"
    program.write_text(
        "import sys, time\n"
        "from mjolnir.sandbox.arena import place\n"
        "from mjolnir.sandbox.process import WorkerLimits, start_worker\n"
        f"shapes, scalars = {SHAPES!r}, {SCALARS!r}\n"
        f"kernel = {(SIGNATURE + 'while True: pass').encode()!r}\n"
        "with start_worker(WorkerLimits(memory_bytes=2 << 30, arena_bytes=1 << 20), kernel=kernel) as w:\n"
        "    deadline = time.monotonic() + 60\n"
        "    w.wait_ready(deadline); w.load(deadline); w.bind(place(shapes), scalars, deadline)\n"
        "    print(w.pid, flush=True)\n"
        "    w.call(deadline)\n"
    )
    with subprocess.Popen([sys.executable, program], stdout=subprocess.PIPE) as parent:
        worker = int(parent.stdout.readline())
        parent.send_signal(signal.SIGKILL)
        parent.wait()
    deadline = time.monotonic() + 10
    while is_running(worker) and time.monotonic() < deadline:
        os.sched_yield()
    assert not is_running(worker)


def test_the_arguments_of_the_worker_tell_a_kernel_nothing():
    with ready_worker("raise ValueError(repr((sys.argv, sys.orig_argv)))", head="import sys") as worker:
        assert "(['worker'], ['worker'])" in worker.call(soon()).text


@pytest.mark.skipif(sys.platform != "linux", reason="the numbers are read from /proc")
def test_the_command_line_in_proc_holds_only_numbers_of_no_order():
    body = "raise ValueError(open('/proc/self/cmdline').read().replace(chr(0), ' '))"
    seen = set()
    for _ in range(3):
        with ready_worker(body) as worker:
            words = worker.call(soon()).text.split()
        seen |= {w for w in words if w.startswith(("--commands=", "--answers=", "--arena="))}
    assert len(seen) >= 6
    assert min(int(w.rpartition("=")[2]) for w in seen) >= 64
