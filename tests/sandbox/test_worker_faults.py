"""A worker that speaks wrongly, late or not at all: a reply of the right kind, nothing left behind, never a hang."""

import contextlib
import gc
import os
import signal
import sys
import tempfile
import time

import pytest

from doubles import bad_worker
from mjolnir.sandbox.arena import place
from mjolnir.sandbox.leftovers import become_subreaper, read_processes
from mjolnir.sandbox.process import ReplyKind, WorkerLimits, start_worker
from mjolnir.targets.worker_words import describe_failure

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="what is left behind is looked for in /proc")

SHAPES = {
    "q": ((1, 4, 8), "bfloat16", 64),
    "kv_cache": ((3, 2, 2, 16, 8), "float8_e4m3fn", 3 * 2 * 2 * 16 * 8),
    "page_table": ((1, 2), "int32", 8),
    "seq_lens": ((1,), "int32", 4),
    "out": ((1, 4, 8), "bfloat16", bad_worker.OUT_BYTES),
}
SCALARS = {"sm_scale": 1.0, "q_scale": 1.0, "k_scale": 1.0, "v_scale": 1.0}
LIMITS = WorkerLimits(memory_bytes=2 << 30, arena_bytes=1 << 20, call_limit_s=20.0)
PATIENCE_S = 30
AT_CALL = {
    "garbage status": ReplyKind.GARBAGE,
    "huge claim": ReplyKind.GARBAGE,
    "early": ReplyKind.GARBAGE,
    "silent": ReplyKind.LATE,
    "stopped": ReplyKind.LATE,
    "too few": ReplyKind.LATE,
    "drips": ReplyKind.LATE,
    "half a header": ReplyKind.LATE,
    "half a text": ReplyKind.LATE,
    "exits": ReplyKind.GONE,
    "too few and gone": ReplyKind.GONE,
    "half a header and gone": ReplyKind.GONE,
    "closes answers": ReplyKind.GONE,
    "has children": ReplyKind.LATE,
    "not UTF-8": ReplyKind.FAILED,
    "no JSON": ReplyKind.FAILED,
}
AT_START = {
    "never stands": ReplyKind.LATE,
    "stands wrongly": ReplyKind.GARBAGE,
    "ends before it stands": ReplyKind.GONE,
}


def soon(seconds=10.0):
    return time.monotonic() + seconds


def until(kind):
    """A deadline: soon over where silence is what is waited for."""
    return soon(0.3 if kind == ReplyKind.LATE else 10.0)


@pytest.fixture(autouse=True)
def _no_hang():
    def complain(number, frame):
        raise AssertionError(f"it hangs: no end after {PATIENCE_S} s")

    before = signal.signal(signal.SIGALRM, complain)
    signal.alarm(PATIENCE_S)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def open_files():
    gc.collect()
    return len(os.listdir("/proc/self/fd"))


def alive_in(session):
    return [p.pid for p in read_processes().values() if p.session == session and p.state not in "ZX"]


@pytest.fixture
def start(monkeypatch, tmp_path):
    """`with start(way) as worker`: at the end nothing may be left: no process, no file, no open descriptor."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    become_subreaper()

    @contextlib.contextmanager
    def begin(way):
        def argv(scratch, arena, *, commands, answers, **others):
            return [sys.executable, "-I", bad_worker.__file__, way, str(commands), str(answers)]

        monkeypatch.setattr("mjolnir.sandbox.process.worker_argv", argv)
        with start_worker(LIMITS, kernel=b"") as worker:
            yield worker
        while alive_in(worker.pid):  # killed, and gone as soon as the system has come to it
            os.sched_yield()
        assert list(tmp_path.iterdir()) == []

    before = open_files()
    yield begin
    assert open_files() == before


@contextlib.contextmanager
def bound(start, way):
    """A worker that stands and took `load` and `bind`."""
    with start(way) as worker:
        assert worker.wait_ready(soon()).kind == ReplyKind.DONE
        assert worker.load(soon()).kind == ReplyKind.DONE
        assert worker.bind(place(SHAPES), SCALARS, soon()).kind == ReplyKind.DONE
        yield worker


@pytest.mark.parametrize(("way", "kind"), AT_CALL.items(), ids=AT_CALL)
def test_a_bad_answer_to_a_call_is_a_reply_of_its_kind_in_time(start, way, kind):
    with bound(start, way) as worker:
        reply = worker.call(until(kind))
    assert reply.kind == kind
    assert reply.out == b""
    assert "\n" not in describe_failure(reply)
    assert describe_failure(reply).isprintable()


@pytest.mark.parametrize(("way", "kind"), AT_START.items(), ids=AT_START)
def test_a_worker_that_never_stands_is_told_from_one_that_does(start, way, kind):
    with start(way) as worker:
        reply = worker.wait_ready(until(kind))
    assert reply.kind == kind
    assert describe_failure(reply)


@pytest.mark.parametrize("way", ["too many", "floods"])
def test_bytes_beyond_an_answer_are_not_part_of_it_and_end_the_conversation(start, way):
    with bound(start, way) as worker:
        first = worker.call(soon())
        second = worker.call(soon())
    assert (first.kind, len(first.out)) == (ReplyKind.DONE, bad_worker.OUT_BYTES)
    assert second.kind == ReplyKind.GARBAGE


def test_an_answer_after_the_deadline_is_no_answer_to_the_next_call(start):
    with bound(start, "late") as worker:
        assert worker.call(soon(0.3)).kind == ReplyKind.LATE
        os.kill(worker.pid, bad_worker.GO_ON)
        again = worker.call(soon())
    assert again.kind != ReplyKind.DONE
    assert again.out == b""


@pytest.mark.parametrize("way", ["garbage status", "silent", "huge claim", "exits", "half a text"])
def test_nothing_is_asked_of_a_worker_after_its_conversation_broke(start, way):
    with bound(start, way) as worker:
        assert worker.call(soon(0.3)).kind >= ReplyKind.GONE
        assert worker.call(soon(2 * PATIENCE_S)).kind >= ReplyKind.GONE
        assert worker.bind(place(SHAPES), SCALARS, soon(2 * PATIENCE_S)).kind >= ReplyKind.GONE
        worker.pause()
        worker.resume()


def test_answers_given_in_advance_by_a_worker_that_left_are_not_taken(start):
    with start("early and gone") as worker:
        assert worker.wait_ready(soon()).kind == ReplyKind.DONE
        assert worker.load(soon()).kind >= ReplyKind.GONE


def test_a_worker_that_left_between_two_calls_is_gone_and_not_garbage(start):
    with start("ends before it stands") as worker:
        while alive_in(worker.pid):
            os.sched_yield()
        assert worker.load(soon()).kind == ReplyKind.GONE


def test_a_worker_that_takes_no_command_any_more_is_gone(start):
    with bound(start, "closes commands") as worker:
        assert worker.call(soon()).kind == ReplyKind.DONE
        assert worker.call(soon()).kind == ReplyKind.GONE


def test_a_message_that_is_not_read_does_not_hold_the_parent(start):
    many = {f"scale {number}": 1.0 for number in range(20_000)}  # more than a pipe holds
    with start("deaf") as worker:
        assert worker.wait_ready(soon()).kind == ReplyKind.DONE
        assert worker.bind(place(SHAPES), many, soon(0.3)).kind == ReplyKind.LATE


def test_a_right_worker_takes_a_message_that_is_larger_than_a_pipe(start):
    many = {f"scale {number}": 1.0 for number in range(20_000)}
    with start("exits") as worker:
        assert worker.wait_ready(soon()).kind == ReplyKind.DONE
        assert worker.bind(place(SHAPES), many, soon()).kind == ReplyKind.DONE
