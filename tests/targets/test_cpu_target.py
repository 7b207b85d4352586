"""What the loop relies on: a visit answers with numbers that hang together, and refuses to invent any."""

import json
import sys
from pathlib import Path

import pytest

from mjolnir.config import parse_config
from mjolnir.core.model import Crashed, Measured
from mjolnir.errors import EnvironmentFault, UsageFault
from mjolnir.targets.protocol import CheckRequest, KernelSource, SweepRequest, TargetRequest, load_target

KERNELS = Path(__file__).parents[1] / "bad_kernels"
HONEST = (KERNELS / "honest_plain.py").read_bytes()
TIRED = b"""

_calls = []
_right = decode


def decode(*arguments, **keywords):
    _calls.append(0)
    if len(_calls) > 40:
        raise ValueError("tired")
    return _right(*arguments, **keywords)
"""
BUSY_BESIDE = b"""

import threading as _threading  # refused by evaluate; the walls must hold without that


def _burn():
    while True:
        pass


_threading.Thread(target=_burn, daemon=True).start()
"""
LIMITS = "[targets.cpu]\nlengths = [128, 256]\nworker_pairs = 2\n"


def visit(blob, *, steps=None, sweep=True, check=True, seed=5):
    target = load_target("cpu", parse_config(LIMITS))
    request = TargetRequest(
        seed=seed,
        check=CheckRequest() if check else None,
        sweep=SweepRequest(lengths=(128, 256), iters=2, gate=False) if sweep else None,
    )
    observe = (lambda p: None) if steps is None else steps.append
    return target.visit(KernelSource(blob=blob, name="kernel.py", origin="test"), request, observe)


@pytest.fixture(scope="module")
def measured():
    steps = []
    return visit(HONEST, steps=steps), steps


def test_an_honest_kernel_is_checked_and_timed_at_every_length(measured):
    report, _ = measured
    assert isinstance(report.outcome, Measured)
    assert [m.length_tokens for m in report.outcome.sweep.measurements] == [128, 256]
    assert all(c.passed for c in report.outcome.cases)


def test_the_documents_are_plain_json_and_hold_the_raw_blocks(measured):
    report, _ = measured
    sweep = json.loads(json.dumps(report.sweep))
    by_role = {s["role"]: s["points"] for s in sweep["series"]}
    for m in report.outcome.sweep.measurements:
        point = next(p for p in by_role["candidate"] if p["L"] == m.length_tokens)
        assert point["total_us"] == pytest.approx(m.candidate_us)
        assert len(point["blocks"]) == 2, "one list of blocks a worker pair"
        assert all(b["calls"] >= 2 and b["mean_us"] > 0 for of_pair in point["blocks"] for b in of_pair)
    assert json.loads(json.dumps(report.correctness))["summary"]["passed"] is True


def test_the_score_is_the_geomean_of_reference_over_candidate(measured):
    report, _ = measured
    speedups = [m.speedup for m in report.outcome.sweep.measurements]
    assert report.sweep["summary"]["score"] == pytest.approx((speedups[0] * speedups[1]) ** 0.5)


def test_the_seed_never_reaches_the_documents_of_the_target(measured):
    report, _ = measured
    assert "seed" not in json.dumps([report.correctness, report.sweep])


def test_progress_is_told_for_both_stages(measured):
    _, steps = measured
    assert {s.stage for s in steps} == {"correctness", "sweep"}
    assert all(0 <= s.done <= s.total for s in steps)


def test_a_check_alone_that_passes_has_no_outcome():
    report = visit(HONEST, sweep=False)
    assert report.outcome is None
    assert report.sweep is None


def test_a_sweep_alone_checks_every_timed_output():
    report = visit((KERNELS / "last_token_lost.py").read_bytes(), check=False)
    assert not isinstance(report.outcome, Measured)


def test_a_kernel_that_breaks_only_under_the_clock_has_no_numbers():
    outcome = visit(HONEST + TIRED).outcome
    assert isinstance(outcome, Crashed)
    assert outcome.stage == "sweep"


def test_a_thread_of_the_kernel_cannot_work_while_the_reference_is_timed():
    report = visit(HONEST + BUSY_BESIDE)
    reference = next(s for s in report.sweep["series"] if s["role"] == "reference")
    shares = [b["cpu_share"] for p in reference["points"] for of_pair in p["blocks"] for b in of_pair]
    assert max(shares) > 0.8


def test_no_case_that_matches_is_wrong_use():
    target = load_target("cpu", parse_config(LIMITS))
    request = TargetRequest(seed=1, check=CheckRequest(match="nosuchcase"))
    with pytest.raises(UsageFault, match="nosuchcase"):
        target.visit(KernelSource(blob=HONEST, name="kernel.py", origin="test"), request, lambda p: None)


def test_a_worker_that_cannot_start_is_the_machines_fault(monkeypatch, tmp_path):
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\necho no interpreter here >&2\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(broken))
    with pytest.raises(EnvironmentFault, match="no interpreter here"):
        visit(HONEST)


def test_an_unknown_target_names_those_that_are_installed():
    with pytest.raises(EnvironmentFault, match="no target named 'warp'") as caught:
        load_target("warp", parse_config(""))
    assert "cpu" in caught.value.hint


def test_too_long_a_context_for_this_memory_is_refused_before_anything_runs():
    target = load_target("cpu", parse_config("[targets.cpu]\nlengths = [16777216]\n[workload]\nbatch = 256\n"))
    with pytest.raises(EnvironmentFault, match="GiB needed"):
        target.preflight()


def test_the_fingerprint_stays_equal():
    target = load_target("cpu", parse_config(""))
    assert target.fingerprint() == target.fingerprint()
    assert {"name", "tools"} <= target.fingerprint().keys()


def test_doctor_names_what_the_target_needs():
    checks = load_target("cpu", parse_config("")).checks()
    assert [c.name for c in checks] == ["cpu packages", "memory", "cores", "worker walls"]
    assert all(c.ok for c in checks)
