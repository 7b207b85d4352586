"""The rule `confirmed` on a stored row: its screen, every round that was measured, and what a keep took from them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from mjolnir.core.confirm import MAX_SET_ASIDE, PASS_GAIN, REFERENCE_JUMP, SE_FLOOR, Decision, Screen, decide, screen
from mjolnir.core.confirm_text import decision_reason, screen_reason
from mjolnir.core.cross_check import is_seen, unseen_reason
from mjolnir.core.model import Experiment, Rule, Status
from mjolnir.core.per_length import positive_number
from mjolnir.core.rejudge_numbers import LOOSE, Numbers, by_tokens, close, close_by_length, recheck_speedups
from mjolnir.core.stats import geomean

EXACT = 1e-9
"""Relative: the same formula over the same stored floats."""
_SCREEN_TERMS = {"reference_jump": REFERENCE_JUMP, "max_set_aside": MAX_SET_ASIDE, "pass_gain": PASS_GAIN}
_NO_NUMBERS = (Status.CRASH, Status.INVALID)
"""A candidate that fails in its confirmation leaves a row without numbers of its own."""
_NUMBERS = "E_NUMBERS"
_BAD_TIMES = "bad numbers: a time of the confirmation is not finite and positive"
_NO_OP = re.compile(r"; a no-op passes in (fewer than )?[0-9.]+ % of tries on this device")
"""What a keep says of its calibration; audit, which has that, compares the number."""


def require_confirm_terms(params: Mapping[str, Any]) -> Iterator[str]:
    """The numbers of screen and confirmation: the rule's own. A calibration may raise the floor, nothing lowers it."""
    found = {key: params["screen"].get(key) for key in _SCREEN_TERMS}
    if found != _SCREEN_TERMS:
        yield f"was screened with {found}; the rule has {_SCREEN_TERMS}"
    terms = params.get("confirm")
    if terms is None:
        return
    floor = positive_number(terms["se_floor"])
    if floor is None or floor < SE_FLOOR or (params.get("calibration") is None and floor != SE_FLOOR):
        yield f"takes {terms['se_floor']!r:.40} as the least standard error; the rule has {SE_FLOOR}"


def recheck_confirmation(
    row: Experiment, params: Mapping[str, Any], numbers: Numbers, best: Numbers | None
) -> Iterator[str]:
    """Everything from step 5 on: `numbers` of the screening run against the champion's."""
    found = screen(numbers, best)
    yield from _screen_said(row, found)
    rounds = _rounds(row)
    yield from _early_rounds(rounds, params)
    decision = _decide(rounds, params) if rounds else None
    yield from _confirm_said(row, decision, params)
    if params.get("unsteady"):
        yield from _wants(row, Status.NOISY, Rule.REFERENCE_UNSTABLE)
        yield from _reason_said(row, f"{params['unsteady']}; re-evaluate")
    elif found.status is not None:
        yield from _wants(row, found.status, str(found.rule))
        yield from _reason_said(row, screen_reason(found, pass_gain=PASS_GAIN))
        if row.ab is not None or row.confirm is not None:
            yield "has a confirmation, though its screen had ended it"
    else:
        unseen = _unseen(row, decision, rounds, params, best)
        if unseen:
            yield from _wants(row, Status.DISCARD, Rule.NOT_CONFIRMED)
            yield from _reason_said(row, unseen)
        else:
            yield from _decided(row, decision)
        if not unseen and decision is not None and (row.status, row.rule) == (decision.status, decision.rule):
            yield from _decided_reason(row, decision, rounds, params)
    yield from _final_numbers(row, rounds, params, found)


def _screen_said(row: Experiment, found: Screen) -> Iterator[str]:
    said = row.screen
    if not isinstance(said, dict):
        yield "has no screen, though it was measured under the rule confirmed"
        return
    if row.score is None or row.status is Status.KEEP:  # else they are the row's own, which are checked
        yield from recheck_speedups("screen ", said.get("per_L"), said.get("fi_us"), said.get("mj_us"))
    if (said.get("status"), said.get("rule")) != (found.status, found.rule):
        told = f"{said.get('status')!r:.40} ({said.get('rule')!r:.40})"
        yield f"says {told} of its screen, but its numbers make it {_pair(found)}"
    if not (close(said.get("gain"), found.gain, EXACT) and _lengths(said.get("set_aside")) == found.set_aside):
        yield "has a gain or lengths set aside in its screen that do not follow from its numbers"


def _rounds(row: Experiment) -> Sequence[Mapping[int, Any]]:
    found = row.ab.get("rounds") if isinstance(row.ab, dict) else None
    return [by_tokens(pairs) for pairs in found or ()]


def _decide(rounds: Sequence[Mapping[int, Any]], params: Mapping[str, Any]) -> Decision:
    terms = params["confirm"]
    return decide(rounds, min_gain=params["min_gain"], attempt=terms["attempt"], se_floor=terms["se_floor"])


def _early_rounds(rounds: Sequence[Mapping[int, Any]], params: Mapping[str, Any]) -> Iterator[str]:
    """A round that should not have been measured is a second chance to be lucky."""
    for count in range(1, len(rounds)):
        if not _decide(rounds[:count], params).more:
            yield f"was measured in {len(rounds)} rounds, though round {count} had decided it"


def _confirm_said(row: Experiment, decision: Decision | None, params: Mapping[str, Any]) -> Iterator[str]:
    """`confirm` as it is stored; `decision` None where no round was finished."""
    said = row.confirm
    if said is None and decision is None:
        return
    if not isinstance(said, dict):
        yield "has rounds but no confirm"
        return
    found = asdict(decision) if decision is not None else {"slower": (), "deep": ()}
    if decision is not None and decision.status is Status.KEEP and _has_bad_reference(row):
        found |= {"m": None, "se": None, "t": None, "status": Status.INVALID, "rule": Rule.BAD_NUMBERS}
    wrong = [name for name in ("m", "se", "t") if not close(said.get(name), found.get(name), EXACT)]
    wrong += [name for name in ("slower", "deep") if _lengths(said.get(name)) != found[name]]
    wrong += [name for name in ("status", "rule") if said.get(name) != found.get(name)]
    wrong += [name for name in ("attempt", "se_floor") if said.get(name) != params["confirm"].get(name)]
    if wrong:
        yield f"has a confirm whose {', '.join(wrong)} do not follow from its rounds"


def _decided(row: Experiment, decision: Decision | None) -> Iterator[str]:
    """It passed its screen. A candidate may also fail in a round, or beside the reference when its rounds were won."""
    is_open = decision is None or decision.more or decision.status is Status.KEEP
    if row.status is Status.CRASH and row.rule == Rule.STAGE_FAILED and row.score is None and is_open:
        return
    if decision is not None and decision.status is Status.KEEP and _has_bad_reference(row):
        yield from _reason_said(row, _BAD_TIMES)
        return
    if decision is None:
        yield f"says {row.status.value} ({row.rule!s:.40}), but it passed its screen and has no rounds that decide"
    elif decision.status is None:
        yield f"says {row.status.value} ({row.rule!s:.40}), though its rounds ask for one more"
    else:
        yield from _wants(row, decision.status, str(decision.rule))


def _has_bad_reference(row: Experiment) -> bool:
    """Its rounds were won, but a time beside the reference was not finite and positive. Those times are not kept."""
    is_bad = (row.status, row.rule) == (Status.INVALID, Rule.BAD_NUMBERS) and _NUMBERS in row.codes
    return is_bad and row.score is None


def _decided_reason(
    row: Experiment, decision: Decision, rounds: Sequence[Mapping[int, Any]], params: Mapping[str, Any]
) -> Iterator[str]:
    if decision.status is Status.INVALID:
        yield from _reason_said(row, _BAD_TIMES)
        return
    reason = _reason_of(decision, rounds, params)
    told = row.reason or ""
    has_rate = row.status is Status.KEEP and params.get("calibration") is not None
    if not (has_rate and told.startswith(reason) and _NO_OP.fullmatch(told, len(reason))):
        yield from _reason_said(row, reason)


def _reason_of(decision: Decision, rounds: Sequence[Mapping[int, Any]], params: Mapping[str, Any]) -> str:
    losses = (*decision.slower, *decision.deep)
    return decision_reason(
        decision,
        rounds=len(rounds),
        min_gain=params["min_gain"],
        attempt=params["confirm"]["attempt"],
        relative={tokens: geomean(pairs[tokens][0] / pairs[tokens][1] for pairs in rounds) for tokens in losses},
    )


def _unseen(
    row: Experiment,
    decision: Decision | None,
    rounds: Sequence[Mapping[int, Any]],
    params: Mapping[str, Any],
    best: Numbers | None,
) -> str:
    """The reason of a row whose rounds were won while the reference saw no such gain; empty for every other."""
    reference_us = by_tokens((row.ab or {}).get("reference_us"))
    if decision is None or decision.status is not Status.KEEP or decision.m is None or not reference_us or best is None:
        return ""
    kernel_us = {tokens: geomean(pairs[tokens][1] for pairs in rounds) for tokens in rounds[0]}
    before = best["per_L"]
    relative = {n: reference_us[n] / kernel_us[n] / before[n] for n in kernel_us if n in reference_us and n in before}
    if not relative or is_seen(decision.m, relative):
        return ""
    return unseen_reason(_reason_of(decision, rounds, params), relative)


def _reason_said(row: Experiment, reason: str) -> Iterator[str]:
    if row.reason != reason:
        yield f"gives the reason {row.reason!r:.200}; its numbers say {reason!r:.200}"


def _final_numbers(
    row: Experiment, rounds: Sequence[Mapping[int, Any]], params: Mapping[str, Any], found: Screen
) -> Iterator[str]:
    """A keep's own numbers are the confirmation's; any other row's are the screening run's."""
    if row.status is Status.KEEP and rounds:
        yield from _kept_numbers(row, rounds, params)
        return
    said: Mapping[str, Any] = row.screen if isinstance(row.screen, dict) else {}
    said = {} if row.status in _NO_NUMBERS and row.score is None else said
    if not all(close_by_length(getattr(row, key), said.get(key), LOOSE) for key in ("per_L", "fi_us", "mj_us")):
        yield "has other per_L, fi_us or mj_us than its screening run"
    if said and _lengths(row.set_aside) != found.set_aside:
        yield "has other lengths set aside than its screen"


def _kept_numbers(row: Experiment, rounds: Sequence[Mapping[int, Any]], params: Mapping[str, Any]) -> Iterator[str]:
    if sorted(rounds[0]) != sorted(params["required"]):
        yield "was confirmed at other lengths than the required ones"
    times_us = {tokens: geomean(pairs[tokens][1] for pairs in rounds) for tokens in rounds[0]}
    if not close_by_length(row.mj_us, times_us, LOOSE):
        yield "has an mj_us that is not the geomean of its rounds"
    if not close_by_length(row.fi_us, (row.ab or {}).get("reference_us"), LOOSE):
        yield "has an fi_us that is not the reference time of its confirmation"


def _wants(row: Experiment, status: Status, rule: str) -> Iterator[str]:
    if (row.status, row.rule) != (status, rule):
        yield f"says {row.status.value} ({row.rule!s:.40}), but its numbers make it {status.value} ({rule})"


def _lengths(values: Any) -> tuple[int, ...]:
    return tuple(sorted(by_tokens(dict.fromkeys(values or ()))))


def _pair(found: Screen) -> str:
    return f"{found.status.value} ({found.rule})" if found.status is not None else "passed on to the confirmation"
