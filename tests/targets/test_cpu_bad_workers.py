"""A worker that breaks its protocol costs one experiment: the kernel's crash or this machine's fault, in time."""

import os
import sys
import tempfile

import pytest

from doubles import bad_worker
from mjolnir.config import parse_config
from mjolnir.core.model import Crashed
from mjolnir.errors import EnvironmentFault
from mjolnir.sandbox.leftovers import read_processes
from mjolnir.sandbox.process import worker_argv
from mjolnir.targets.protocol import CheckRequest, KernelSource, SweepRequest, TargetRequest, load_target

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="what is left behind is looked for in /proc")

LIMITS = "[targets.cpu]\nlengths = [128, 256]\nworker_pairs = 1\n"
HONEST = b"def decode(q, kv_cache, page_table, seq_lens, *, sm_scale, q_scale, k_scale, v_scale, out):\n    pass\n"
CRASHES = {
    "silent": "no answer after",
    "too few": "no answer after",
    "drips": "no answer after",
    "half a header": "no answer after",
    "exits": "exit code 0",
    "closes answers": "left before its answer",
    "garbage status": "not of the protocol",
    "huge claim": "not of the protocol",
    "early": "nobody asked for",
}
NEVER_STANDS = ("never stands", "stands wrongly", "ends before it stands")


@pytest.fixture
def visit(monkeypatch, tmp_path):
    """`visit(way, role)`: a visit of the cpu target in which the worker of that role is the double."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def go(way, role="candidate", *, check=True, sweep=True):
        def argv(scratch, arena, *, commands, answers, leg, **others):
            if (leg == "candidate") != (role == "candidate"):
                return worker_argv(scratch, arena, commands=commands, answers=answers, leg=leg, **others)
            return [sys.executable, "-I", bad_worker.__file__, way, str(commands), str(answers)]

        monkeypatch.setattr("mjolnir.sandbox.process.worker_argv", argv)
        request = TargetRequest(
            seed=5,
            check=CheckRequest() if check else None,
            sweep=SweepRequest(lengths=(128, 256), iters=2, gate=False) if sweep else None,
            time_limit_s=1.0 if role == "candidate" else 20.0,
        )
        source = KernelSource(blob=HONEST, name="kernel.py", origin="test")
        return load_target("cpu", parse_config(LIMITS)).visit(source, request, lambda step: None)

    before = children()
    yield go
    assert children() == before
    assert list(tmp_path.iterdir()) == []


def children():
    return {p.pid for p in read_processes().values() if p.parent == os.getpid()}


@pytest.mark.parametrize(("way", "words"), CRASHES.items(), ids=CRASHES)
def test_a_worker_that_breaks_off_in_the_check_is_a_crash_and_nothing_is_timed(visit, way, words):
    report = visit(way)
    assert isinstance(report.outcome, Crashed)
    assert report.outcome.stage == "correctness"
    assert words in report.outcome.detail
    assert report.sweep is None


def test_a_text_that_is_no_text_is_shown_in_printable_words(visit):
    outcome = visit("not UTF-8").outcome
    assert isinstance(outcome, Crashed)
    assert outcome.detail.isprintable()


@pytest.mark.parametrize("way", ["silent", "garbage status", "closes answers"])
def test_a_worker_that_breaks_off_under_the_clock_is_a_crash_of_the_sweep(visit, way):
    outcome = visit(way, check=False).outcome
    assert isinstance(outcome, Crashed)
    assert outcome.stage == "sweep"


@pytest.mark.parametrize("way", NEVER_STANDS)
def test_a_worker_that_never_stands_is_this_machines_fault_and_no_row(visit, way):
    with pytest.raises(EnvironmentFault) as fault:
        visit(way)
    assert fault.value.code == "E_WORKER"


@pytest.mark.parametrize("way", ["garbage status", "exits", "early"])
def test_a_reference_that_breaks_off_is_this_machines_fault_and_no_row(visit, way):
    with pytest.raises(EnvironmentFault) as fault:
        visit(way, role="reference", check=False)
    assert fault.value.code == "E_WORKER"
    assert "reference" in fault.value.message
