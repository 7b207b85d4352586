"""A kernel cannot tell by what it is given whether it is in a visit or in a race; real confined workers."""

import os
from pathlib import Path

import pytest

from mjolnir.config import parse_config
from mjolnir.core.case_plan import plan_cases
from mjolnir.core.model import Crashed, Measured, Tampered
from mjolnir.targets import cpu_workers
from mjolnir.targets.cpu_race_check import RaceCheck
from mjolnir.targets.protocol import (
    CheckRequest,
    Entrant,
    KernelSource,
    RaceRequest,
    SweepRequest,
    TargetRequest,
    load_target,
)

KERNELS = Path(__file__).parents[1] / "bad_kernels"
HONEST = (KERNELS / "honest_plain.py").read_bytes()
LENGTHS = (128, 256)
WRAPPED = b"""

import os as _os  # refused by evaluate; here it is a way to see what a kernel can see

_seen = []
_right = decode


def decode(q, kv_cache, page_table, seq_lens, **keywords):
    _seen.extend(int(n) for n in seq_lens)
    WHAT
    return _right(q, kv_cache, page_table, seq_lens, **keywords)
"""
WANTS_ODD_LENGTHS = b'if all(n in (128, 256) for n in _seen): raise ValueError("never checked")'
SHOWS_CORES = b'raise ValueError(f"cores {sorted(_os.sched_getaffinity(0))} at length {_seen}")'
WRONG_WHEN_RAGGED = b"if len(q) > 1: seq_lens = seq_lens - seq_lens // 2"
LEAVES_WHEN_RAGGED = b"if len(q) > 1: _os._exit(0)"


def wrapped(what):
    return HONEST + WRAPPED.replace(b"WHAT", what)


def target(worker_pairs=3):
    return load_target("cpu", parse_config(f"[targets.cpu]\nlengths = [128, 256]\nworker_pairs = {worker_pairs}\n"))


def source(blob):
    return KernelSource(blob=blob, name="kernel.py", origin="test")


def race(blob, *, seed=11, worker_sets=1, worker_pairs=3):
    entrants = [Entrant(role="champion", kernel=source(HONEST)), Entrant(role="candidate", kernel=source(blob))]
    request = RaceRequest(seed=seed, lengths=LENGTHS, worker_sets=worker_sets, iters=2, gate=False, time_limit_s=60.0)
    return target(worker_pairs).race(entrants, request, lambda p: None)


def visit(blob, *, worker_pairs=1):
    sweep = SweepRequest(lengths=LENGTHS, iters=2, gate=False)
    request = TargetRequest(seed=12, check=CheckRequest(), sweep=sweep, time_limit_s=60.0)
    return target(worker_pairs).visit(source(blob), request, lambda p: None)


def test_every_worker_of_a_race_meets_lengths_of_no_sweep_before_any_of_a_sweep():
    assert race(wrapped(WANTS_ODD_LENGTHS), worker_sets=3).failure is None


def test_as_many_sets_as_a_visit_has_workers_get_all_its_cases_between_them():
    config = parse_config("[targets.cpu]\nworker_pairs = 3\n")
    section, workload = config.targets["cpu"], config.workload.paged_decode()
    check = RaceCheck(section, workload, 21)
    shares = [check.share(number) for number in range(3)]
    planned = plan_cases(workload, section.lengths, quick=True, seed=21)
    assert sorted(case.name for share in shares for case in share) == sorted(case.name for case in planned)
    assert max(map(len, shares)) - min(map(len, shares)) <= 1


def test_every_worker_of_a_visit_does_too():
    assert isinstance(visit(wrapped(WANTS_ODD_LENGTHS), worker_pairs=2).outcome, Measured)


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="the system does not say")
def test_the_first_call_of_a_race_and_of_a_visit_may_use_the_same_cores():
    cores = f"cores {sorted(os.sched_getaffinity(0))} at length"
    assert cores in race(wrapped(SHOWS_CORES)).failure.detail
    assert cores in visit(wrapped(SHOWS_CORES)).outcome.detail


def test_the_memory_of_a_worker_is_as_large_in_a_race_as_in_a_visit(monkeypatch):
    sizes = []

    def start_worker(limits, **keywords):
        sizes.append((limits.arena_bytes, limits.memory_bytes))
        return real(limits, **keywords)

    real = cpu_workers.start_worker
    monkeypatch.setattr(cpu_workers, "start_worker", start_worker)
    visit(HONEST)
    race(HONEST)
    assert len(sizes) == 4
    assert len(set(sizes)) == 1


def test_a_wrong_answer_to_a_check_call_of_a_race_is_that_of_a_kernel_that_knew_it_was_raced():
    report = race(wrapped(WRONG_WHEN_RAGGED))
    assert isinstance(report.failure, Tampered)
    assert report.failure.code == "E_PROFILED"
    assert "right in its check, wrong when raced: " in report.failure.detail
    assert report.failed_role == "candidate"


def test_a_worker_that_leaves_in_a_check_call_of_a_race_is_a_crash_of_the_confirmation():
    report = race(wrapped(LEAVES_WHEN_RAGGED))
    assert isinstance(report.failure, Crashed)
    assert report.failure.stage == "confirm"
    assert report.failed_role == "candidate"


@pytest.mark.parametrize("name", ["sniffing-race.py", "sniffing-arguments.py"])
def test_kernels_that_look_for_a_race_find_none(name):
    assert race((KERNELS / name).read_bytes()).failure is None
