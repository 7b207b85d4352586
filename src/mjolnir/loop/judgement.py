"""From what a device found to a verdict: the outcome's numbers in the ledger's keys, and the rule that decided."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, assert_never

from mjolnir.core.confirm import PASS_GAIN, Screen, screen
from mjolnir.core.confirm_text import screen_reason
from mjolnir.core.judge import judge, make_policy
from mjolnir.core.model import (
    CaseResult,
    Crashed,
    Experiment,
    Incorrect,
    KeepPolicy,
    Measured,
    Outcome,
    Rule,
    Status,
    Sweep,
    Tampered,
    Verdict,
)
from mjolnir.core.rule_names import CONFIRMED
from mjolnir.core.stats import geomean
from mjolnir.loop.terms import Terms

MAX_DETAIL_CHARS = 2000
"""Of a kernel's own words in a reason; the log has the rest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A verdict with the numbers it stands on. Keys of L are decimal strings, times microseconds; ratios > 1: faster.

    `seed` is the seed rule's own verdict on the screening run; `verdict` what the row says. `screen` is what the rule
    `confirmed` says of that run; None under the rule seed, and where there is nothing to screen.
    """

    seed: Verdict
    verdict: Verdict
    screen: Screen | None = None
    correctness: str | None = None
    score: float | None = None
    per_length: dict[str, float] = field(default_factory=dict)
    reference_us: dict[str, float] = field(default_factory=dict)
    candidate_us: dict[str, float] = field(default_factory=dict)
    codes: tuple[str, ...] = ()
    unsteady: str = ""

    @property
    def is_pending(self) -> bool:
        """True when the screen was passed: the confirmation decides."""
        return self.screen is not None and self.screen.status is None and self.verdict.status is not Status.NOISY


def judge_outcome(outcome: Outcome, champion: Experiment | None, terms: Terms) -> Judged:
    """The verdict on `outcome` against the champion's row (None: there is none yet) under `terms`.

    Under the rule `confirmed` one that `is_pending` must be confirmed (confirmed_row.py) before it means anything.
    """
    numbers = _numbers(outcome)
    row: Mapping[str, Any] = {
        "score": numbers.get("score"),
        "correctness": numbers.get("correctness"),
        "per_L": numbers.get("per_length"),
        "fi_us": numbers.get("reference_us"),
    }
    policy = policy_of(terms)
    seed = judge(row, champion, min_gain=policy.min_gain, noise=policy.noise, required=policy.required)
    screened = screen(row, champion) if terms.rule == CONFIRMED and seed.relative else None
    verdict, codes = _final(outcome, seed if screened is None else screen_verdict(screened, seed))
    unsteady = outcome.unsteady if isinstance(outcome, Measured) else ""
    return Judged(seed=seed, verdict=verdict, screen=screened, codes=codes, unsteady=unsteady, **numbers)


def screen_verdict(screened: Screen, seed: Verdict) -> Verdict:
    """The screen in the place of the seed rule's steps 5 to 10. One that passed is a keep until it is confirmed."""
    return Verdict(
        status=screened.status or Status.KEEP,
        rule=screened.rule or Rule.GAIN,
        reason=screen_reason(screened, pass_gain=PASS_GAIN),
        gain=screened.gain,
        relative=seed.relative,
        set_aside=screened.set_aside,
    )


def policy_of(terms: Terms) -> KeepPolicy:
    """The seed rule's numbers under `terms`."""
    return make_policy(min_gain=terms.min_gain, noise=KeepPolicy().noise, required=terms.required)


def _numbers(outcome: Outcome) -> dict[str, Any]:
    match outcome:
        case Measured(sweep=sweep):
            return {"correctness": "pass", **_sweep_numbers(sweep)}
        case Incorrect():
            return {"correctness": "fail"}
        case Crashed(stage=stage):
            return {"correctness": "pass" if stage == "sweep" else None}
        case Tampered(cases=cases):
            return {"correctness": _correctness_of(cases)}
        case _ as never:
            assert_never(never)


def _sweep_numbers(sweep: Sweep) -> dict[str, Any]:
    per_length = {str(m.length_tokens): m.speedup for m in sweep.measurements}
    is_usable = per_length and all(math.isfinite(x) and x > 0 for x in per_length.values())
    return {
        "score": geomean(per_length.values()) if is_usable else None,
        "per_length": per_length if is_usable else {},
        "reference_us": {str(m.length_tokens): m.reference_us for m in sweep.measurements},
        "candidate_us": {str(m.length_tokens): m.candidate_us for m in sweep.measurements},
    }


def _correctness_of(cases: tuple[CaseResult, ...]) -> str | None:
    """What is known of the check of a kernel that broke the rules."""
    if not cases:
        return None
    return "pass" if all(c.passed for c in cases) else "fail"


def _final(outcome: Outcome, seed: Verdict) -> tuple[Verdict, tuple[str, ...]]:
    """What the row says: the seed's verdict, unless the device knows better."""
    match outcome:
        case Measured(unsteady=unsteady) if seed.rule != Rule.STAGE_FAILED:
            if seed.status is Status.INVALID:
                return seed, ("E_NUMBERS",)
            if unsteady and seed.rule != Rule.PARTIAL_SWEEP:
                reason = f"{unsteady}; re-evaluate"
                return replace(seed, status=Status.NOISY, rule=Rule.REFERENCE_UNSTABLE, reason=reason), ()
            return seed, ()
        case Measured():
            reason = "bad numbers: a speedup is not finite and positive"
            return Verdict(status=Status.INVALID, rule=Rule.BAD_NUMBERS, reason=reason), ("E_NUMBERS",)
        case Incorrect(failures=failures):
            return replace(seed, reason=incorrect_reason(failures)), ()
        case Crashed() | Tampered():
            return final_failure(outcome)
        case _ as never:
            assert_never(never)


def final_failure(failure: Crashed | Tampered) -> tuple[Verdict, tuple[str, ...]]:
    """The verdict on a kernel that failed in any stage, and its codes."""
    match failure:
        case Crashed(stage=stage, detail=detail):
            return Verdict(status=Status.CRASH, rule=Rule.STAGE_FAILED, reason=_crash_reason(stage, detail)), ()
        case Tampered(code=code, detail=detail):
            return Verdict(status=Status.INVALID, rule=code, reason=_finding_reason(code, detail)), (code,)
        case _ as never:
            assert_never(never)


def incorrect_reason(failures: tuple[CaseResult, ...]) -> str:
    """Family, case and error of the first failure, and how many more there are."""
    if not failures:
        return "correctness failed"
    first = failures[0]
    where = first.case if first.case.startswith(first.family) else f"{first.family} {first.case}"
    numbers = f": error {first.error:.3g}, allowed {first.limit:.3g}" if first.error is not None and first.limit else ""
    detail = f" ({first.detail[:MAX_DETAIL_CHARS]})" if first.detail else ""
    more = f", and {len(failures) - 1} more cases" if len(failures) > 1 else ""
    return f"correctness failed at {where}{numbers}{detail}{more}"


def describe_failure(outcome: Outcome) -> str:
    """One sentence on an outcome without numbers; empty for a measured one."""
    match outcome:
        case Measured():
            return ""
        case Incorrect(failures=failures):
            return incorrect_reason(failures)
        case Crashed(stage=stage, detail=detail):
            return _crash_reason(stage, detail)
        case Tampered(code=code, detail=detail):
            return _finding_reason(code, detail)
        case _ as never:
            assert_never(never)


def _crash_reason(stage: str, detail: str) -> str:
    return f"{stage} failed: {detail[:MAX_DETAIL_CHARS]}"


def _finding_reason(code: str, detail: str) -> str:
    return f"{code}: {detail[:MAX_DETAIL_CHARS]}"
