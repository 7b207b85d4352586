"""From an outcome to a verdict: whatever a device can answer, and what the row then says."""

from __future__ import annotations

import pytest

from mjolnir.config import parse_config
from mjolnir.core.judge import judge
from mjolnir.core.model import (
    CaseResult,
    Crashed,
    Experiment,
    Incorrect,
    Measured,
    Measurement,
    Rule,
    Status,
    Sweep,
    Tampered,
)
from mjolnir.loop.judgement import judge_outcome
from mjolnir.loop.rule_params import rule_params
from mjolnir.loop.terms import Wishes, settle_terms

CONFIG = parse_config('[run]\nrule = "seed"\n[targets.cpu]\nlengths = [128, 1024, 4096]\nmin_gain = 0.05\n')
TERMS = settle_terms(CONFIG, "cpu", Wishes())
WRONG = CaseResult(family="needle", case="L=129", passed=False, error=0.5, limit=0.01)
RIGHT = CaseResult(family="gauss", case="L=128", passed=True, error=0.001, limit=0.01)
CHAMPION = Experiment(
    id=1,
    ts="2030-01-01T00:00:00+00:00",
    status=Status.BASELINE,
    correctness="pass",
    score=1.0,
    per_L={"128": 1.0, "1024": 1.0, "4096": 1.0},
    fi_us={"128": 100.0, "1024": 100.0, "4096": 100.0},
)


def measured(speedup, *, reference_us=100.0, unsteady="", lengths=(128, 1024, 4096)):
    measurements = tuple(
        Measurement(length_tokens=n, reference_us=reference_us, candidate_us=reference_us / speedup) for n in lengths
    )
    return Measured(sweep=Sweep(measurements=measurements), unsteady=unsteady)


@pytest.mark.parametrize(
    ("outcome", "status", "rule", "correctness"),
    [
        (measured(1.2), Status.KEEP, Rule.GAIN, "pass"),
        (measured(1.01), Status.DISCARD, Rule.GAIN_TOO_SMALL, "pass"),
        (measured(3.0, lengths=(128,)), Status.DISCARD, Rule.PARTIAL_SWEEP, "pass"),
        (measured(1.2, reference_us=200.0), Status.NOISY, Rule.REFERENCE_UNSTABLE, "pass"),
        (measured(1.2, unsteady="busy"), Status.NOISY, Rule.REFERENCE_UNSTABLE, "pass"),
        (measured(1.01, unsteady="busy"), Status.NOISY, Rule.REFERENCE_UNSTABLE, "pass"),
        (measured(3.0, unsteady="busy", lengths=(128,)), Status.DISCARD, Rule.PARTIAL_SWEEP, "pass"),
        (Incorrect(failures=(WRONG,), cases=(RIGHT, WRONG)), Status.DISCARD, Rule.INCORRECT, "fail"),
        (Crashed(stage="import", detail="SyntaxError"), Status.CRASH, Rule.STAGE_FAILED, None),
        (Crashed(stage="sweep", detail="time limit", cases=(RIGHT,)), Status.CRASH, Rule.STAGE_FAILED, "pass"),
        (Tampered(code="E_STATE", detail="cache", cases=(RIGHT, WRONG)), Status.INVALID, "E_STATE", "fail"),
        (Tampered(code="E_LEFTOVER", detail="fork", cases=(RIGHT,)), Status.INVALID, "E_LEFTOVER", "pass"),
        (Tampered(code="E_MUTATES", detail="q"), Status.INVALID, "E_MUTATES", None),
    ],
)
def test_every_outcome_has_its_verdict(outcome, status, rule, correctness):
    judged = judge_outcome(outcome, CHAMPION, TERMS)
    assert (judged.verdict.status, judged.verdict.rule, judged.correctness) == (status, rule, correctness)
    assert judged.codes == ((rule,) if status is Status.INVALID else ())
    assert (judged.score is not None) == isinstance(outcome, Measured)


def test_the_verdict_of_the_rule_alone_is_kept_beside_it():
    judged = judge_outcome(measured(1.2, unsteady="busy"), CHAMPION, TERMS)
    assert (judged.seed.status, judged.verdict.status) == (Status.KEEP, Status.NOISY)
    assert "busy" in judged.verdict.reason


def test_numbers_of_a_champion_that_make_no_sense_are_invalid():
    broken = Experiment(id=1, ts="", status=Status.BASELINE, correctness="pass", score=1.0, per_L={"128": -1.0})
    judged = judge_outcome(measured(1.2), broken, TERMS)
    assert (judged.verdict.status, judged.verdict.rule, judged.codes) == (
        Status.INVALID,
        Rule.BAD_NUMBERS,
        ("E_NUMBERS",),
    )


def test_a_speedup_beyond_all_numbers_is_invalid_and_can_be_written_down():
    times = Measurement(length_tokens=128, reference_us=1e300, candidate_us=1e-300)
    judged = judge_outcome(Measured(sweep=Sweep(measurements=(times,))), CHAMPION, TERMS)
    assert (judged.verdict.status, judged.codes, judged.score, judged.per_length) == (
        Status.INVALID,
        ("E_NUMBERS",),
        None,
        {},
    )


@pytest.mark.parametrize("speedup", [0.9, 1.01, 1.2])
def test_who_reads_the_row_can_judge_it_again(speedup):
    judged, params = judge_outcome(measured(speedup), CHAMPION, TERMS), rule_params(TERMS)
    row = {
        "score": judged.score,
        "correctness": judged.correctness,
        "per_L": judged.per_length,
        "fi_us": judged.reference_us,
    }
    again = judge(row, CHAMPION, min_gain=params["min_gain"], noise=params["noise"], required=params["required"])
    assert again == judged.verdict


def test_a_reason_names_family_case_error_and_limit_and_is_bounded():
    judged = judge_outcome(Incorrect(failures=(WRONG, WRONG)), CHAMPION, TERMS)
    assert judged.verdict.reason == "correctness failed at needle L=129: error 0.5, allowed 0.01, and 1 more cases"
    long = judge_outcome(Crashed(stage="import", detail="x" * 1_000_000), CHAMPION, TERMS)
    assert len(long.verdict.reason) < 3000
