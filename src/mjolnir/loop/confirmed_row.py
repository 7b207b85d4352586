"""From a confirmation to a verdict, and to the keys `screen`, `ab` and `confirm` of a row (docs/ledger.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from mjolnir.core.confirm import Decision
from mjolnir.core.confirm_text import decision_reason
from mjolnir.core.cross_check import is_seen, unseen_reason
from mjolnir.core.model import Experiment, Rule, Status, Verdict
from mjolnir.core.per_length import divide_per_length, positive_number, read_per_length
from mjolnir.core.stats import geomean
from mjolnir.loop.confirmation import Confirmation
from mjolnir.loop.judgement import Judged, final_failure
from mjolnir.loop.terms import Terms

Floats = dict[str, float]


def confirmed(
    judged: Judged, found: Confirmation, champion: Experiment, terms: Terms, *, no_op_text: str = ""
) -> Judged:
    """`judged` with the confirmation's verdict. On a keep the numbers are the confirmation's; else the screening run's,
    and none at all where the candidate failed. `no_op_text`: how often a no-op passes here, for a keep's reason."""
    if found.failure is not None:
        verdict, codes = final_failure(found.failure)
        return _without_numbers(judged, verdict, codes)
    if found.has_bad_numbers:
        reason = "bad numbers: a time of the confirmation is not finite and positive"
        bad = Verdict(status=Status.INVALID, rule=Rule.BAD_NUMBERS, reason=reason)
        return _without_numbers(judged, bad, ("E_NUMBERS",))
    if found.unsteady:
        verdict = Verdict(
            status=Status.NOISY,
            rule=Rule.REFERENCE_UNSTABLE,
            reason=f"{found.unsteady}; re-evaluate",
            gain=judged.verdict.gain,
            relative=judged.verdict.relative,
            set_aside=judged.verdict.set_aside,
        )
        return replace(judged, verdict=verdict, unsteady=found.unsteady)
    assert found.decision is not None, "a confirmation that was not cut short has decided"
    reason = _reason(found, found.decision, terms)
    if found.reference_us is None:
        return replace(judged, verdict=_verdict(judged, found.decision, reason))
    kept = _kept(judged, found, champion, f"{reason}; {no_op_text}" if no_op_text else reason)
    assert found.decision.m is not None
    if is_seen(found.decision.m, kept.verdict.relative):
        return kept
    unseen = replace(
        judged.verdict,
        status=Status.DISCARD,
        rule=Rule.NOT_CONFIRMED,
        reason=unseen_reason(reason, kept.verdict.relative),
        gain=found.decision.gain,
    )
    return replace(judged, verdict=unseen)


def _without_numbers(judged: Judged, verdict: Verdict, codes: tuple[str, ...]) -> Judged:
    """A row that can never be champion."""
    return replace(judged, verdict=verdict, codes=codes, score=None, per_length={}, reference_us={}, candidate_us={})


def _reason(found: Confirmation, decision: Decision, terms: Terms) -> str:
    return decision_reason(
        decision,
        rounds=len(found.rounds),
        min_gain=terms.min_gain,
        attempt=found.attempt,
        relative=found.relative(),
    )


def _verdict(judged: Judged, decision: Decision, reason: str) -> Verdict:
    assert decision.status is not None, "no further round is wanted"
    return replace(judged.verdict, status=decision.status, rule=decision.rule or "", reason=reason, gain=decision.gain)


def _kept(judged: Judged, found: Confirmation, champion: Experiment, reason: str) -> Judged:
    assert found.decision is not None
    assert found.reference_us is not None
    candidate_us = found.candidate_us()
    per_length = divide_per_length(found.reference_us, candidate_us)
    verdict = replace(
        _verdict(judged, found.decision, reason),
        relative=divide_per_length(per_length, read_per_length(champion.per_L, "the champion's per_L")),
        set_aside=(),
    )
    return replace(
        judged,
        verdict=verdict,
        score=geomean(per_length.values()),
        per_length=_keyed(per_length),
        reference_us=_keyed(found.reference_us),
        candidate_us=_keyed(candidate_us),
    )


def confirmation_keys(screened: Judged, found: Confirmation | None) -> dict[str, Any]:
    """The keys `screen`, `ab` and `confirm`. `screened` is the verdict before the confirmation; each key is None where
    there was no such step."""
    keys: dict[str, Any] = {"screen": _screen_key(screened), "ab": None, "confirm": None}
    if found is None:
        return keys
    reference_us = None if found.reference_us is None else _keyed(found.reference_us)
    rounds = [
        {str(n): [positive_number(time_us) for time_us in pair] for n, pair in sorted(pairs.items())}
        for pairs in found.rounds
    ]
    keys["ab"] = {"rounds": rounds, "reference_us": reference_us}
    keys["confirm"] = _confirm_key(found)
    return keys


def _screen_key(judged: Judged) -> dict[str, Any] | None:
    screen = judged.screen
    if screen is None:
        return None
    return {
        "per_L": judged.per_length,
        "fi_us": judged.reference_us,
        "mj_us": judged.candidate_us,
        "gain": screen.gain,
        "set_aside": list(screen.set_aside),
        "status": screen.status.value if screen.status is not None else None,
        "rule": screen.rule,
    }


def _confirm_key(found: Confirmation) -> dict[str, Any]:
    decision = found.decision
    status = decision.status if decision is not None else None
    return {
        "m": decision.m if decision is not None else None,
        "se": decision.se if decision is not None else None,
        "t": decision.t if decision is not None else None,
        "attempt": found.attempt,
        "se_floor": found.se_floor,
        "slower": list(decision.slower) if decision is not None else [],
        "deep": list(decision.deep) if decision is not None else [],
        "status": status.value if status is not None else None,
        "rule": decision.rule if decision is not None else None,
    }


def confirm_document(found: Confirmation) -> dict[str, Any]:
    """The stage part of the confirmation's run document: every race with its raw blocks."""
    series = [
        {**line, "id": f"{race['name'].replace(' ', '-')}-{line['id']}", "race": race["name"]}
        for race in found.races
        for line in race["document"].get("series", ())
    ]
    params = {"races": [{k: v for k, v in race.items() if k != "document"} for race in found.races]}
    return {"params": params, "series": series, "cases": [], "summary": _confirm_key(found)}


def _keyed(values: Mapping[int, float]) -> Floats:
    return {str(n): value for n, value in sorted(values.items())}
