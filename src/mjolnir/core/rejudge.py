"""A stored verdict, worked out again from the row and its champion's row alone: what `audit` compares.

Reads no clock, no file and no environment, and raises on nothing that a ledger can hold. What cannot be known from the
two rows (did the kernel really crash?) is taken as the row says; nothing of that kind makes a champion.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from mjolnir.core.catalogue_text import INVALID
from mjolnir.core.judge import judge
from mjolnir.core.model import Experiment, KeepPolicy, Rule, Status, Verdict
from mjolnir.core.rejudge_confirm import recheck_confirmation, require_confirm_terms
from mjolnir.core.rejudge_numbers import (
    LOOSE,
    Numbers,
    champion_numbers,
    close,
    recheck_numbers,
    recheck_relative,
    screening_numbers,
)
from mjolnir.core.rule_names import CONFIRMED, SEED

_NO_NUMBERS = "E_NUMBERS"
"""The one integrity code that stands beside a rule of its own, bad_numbers."""
_UNREADABLE = (TypeError, ValueError, KeyError, AttributeError, IndexError, ArithmeticError)
_FIXED = ("noise", "reference_jump", "max_set_aside", "max_slower")
"""Numbers of the seed rule that no run and no option changes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTerms:
    """What `init` froze: the rule, the least gain (a ratio minus 1) and the lengths that a keep needs, in tokens."""

    rule: str
    min_gain: float
    required: tuple[int, ...]


def rejudge(row: Experiment, champion: Experiment | None, terms: RunTerms | None = None) -> list[str]:
    """What `row` says and its numbers do not, a sentence each; empty when every word follows.

    champion  the newest keep or baseline before `row`, None when there is none
    terms     what the run froze, None where nobody knows: then the row's own are taken
    """
    try:
        if is_version_0(row):
            return list(_version_0(row, champion))
        return list(_row(row, champion, terms))
    except _UNREADABLE as e:
        return [f"its numbers cannot be judged again ({type(e).__name__}: {str(e)[:80]})"]


def is_version_0(row: Experiment) -> bool:
    """True for a row of mjolnir-cli 0.2.0, which has neither schema nor hash."""
    return row.schema is None and row.hash is None


def has_numbers(row: Experiment) -> bool:
    """True when a version 0 row can be judged again."""
    return row.score is not None and bool(row.per_L)


def _version_0(row: Experiment, champion: Experiment | None) -> Iterator[str]:
    if not has_numbers(row):
        return
    min_gain = row.min_gain if row.min_gain is not None else KeepPolicy().min_gain
    verdict = judge(screening_numbers(row), champion_numbers(champion), min_gain=min_gain)
    if verdict.status != row.status:
        yield f"says {row.status.value}, but its numbers make it {verdict.status.value} ({verdict.reason})"


def _row(row: Experiment, champion: Experiment | None, terms: RunTerms | None) -> Iterator[str]:
    params = row.params
    if not isinstance(params, dict):
        yield "has no params: nobody can say by which numbers it was judged"
        return
    yield from _terms(row, params, terms)
    numbers, best = screening_numbers(row), champion_numbers(champion)
    seed = judge(numbers, best, min_gain=params["min_gain"], noise=params["noise"], required=params["required"])
    yield from _seed_said(row, seed)
    yield from recheck_numbers(row)
    if row.score is not None and set(numbers["per_L"]) != set(params["lengths"]):
        yield f"says that the lengths {params['lengths']!r:.80} were measured, but has numbers of others"
    yield from recheck_relative(row, best, is_due=bool(seed.relative))
    yield from _verdict(row, params, seed, numbers, best)


def _terms(row: Experiment, params: Mapping[str, Any], terms: RunTerms | None) -> Iterator[str]:
    """The numbers of the rule: none may be laxer than what the run froze."""
    policy = KeepPolicy()
    for name in _FIXED:
        if params.get(name) != getattr(policy, name):
            yield f"was judged with {name} {params.get(name)!r:.40}; the rule has {getattr(policy, name)}"
    if not close(row.min_gain, params["min_gain"], LOOSE):
        yield f"asks for a gain of {row.min_gain!r:.40} in one place and of {params['min_gain']!r:.40} in another"
    if params.get("rule") == CONFIRMED:
        yield from require_confirm_terms(params)
    elif params.get("rule") != SEED:
        yield f"was judged by an unknown rule, {params.get('rule')!r:.40}"
    if terms is not None:
        yield from _frozen_terms(row, params, terms)


def _frozen_terms(row: Experiment, params: Mapping[str, Any], terms: RunTerms) -> Iterator[str]:
    if params.get("rule") != terms.rule:
        yield f"was judged by the rule {params.get('rule')!r:.40}; the run froze {terms.rule!r:.40}"
    if not params["min_gain"] >= terms.min_gain:
        yield f"asks for a gain of {params['min_gain']:g}; the run froze {terms.min_gain:g}"
    if sorted(params["required"]) != sorted(terms.required):
        yield f"requires the lengths {params['required']!r:.80}; the run froze {sorted(terms.required)}"


def _seed_said(row: Experiment, seed: Verdict) -> Iterator[str]:
    said = row.judge if isinstance(row.judge, dict) else {}
    if (said.get("status"), said.get("reason")) != (seed.status.value, seed.reason):
        yield (
            f"has {said.get('status')!r:.20} ({said.get('reason')!r:.80}) as the seed rule's verdict; its numbers say "
            f"{seed.status.value!r} ({seed.reason!r})"
        )


def _verdict(
    row: Experiment, params: Mapping[str, Any], seed: Verdict, numbers: Numbers, best: Numbers | None
) -> Iterator[str]:
    """Status and rule, clause by clause in the order in which `evaluate` decides."""
    code = next((c for c in row.codes if c != _NO_NUMBERS), None)
    if code is not None:
        if code not in INVALID:
            yield f"carries {code!r:.40}, which is no code of an integrity finding"
        yield from _wants(row, Status.INVALID, code)
        return
    if params.get("rule") == CONFIRMED and _is_measured(seed):
        yield from recheck_confirmation(row, params, numbers, best)
        return
    if seed.status is Status.BASELINE and not params.get("unsteady"):
        yield from _wants(row, Status.BASELINE, seed.rule)
        return
    if _is_bad(row, seed):
        if _NO_NUMBERS not in row.codes:
            yield f"has bad numbers but not the code {_NO_NUMBERS}"
        yield from _wants(row, Status.INVALID, Rule.BAD_NUMBERS)
        return
    if params.get("unsteady") and row.score is not None and seed.rule not in (Rule.INCORRECT, Rule.PARTIAL_SWEEP):
        yield from _wants(row, Status.NOISY, Rule.REFERENCE_UNSTABLE)
        return
    yield from _wants(row, seed.status, seed.rule)
    if _is_measured(seed) and (row.reason != seed.reason or tuple(row.set_aside) != seed.set_aside):
        yield f"gives the reason {row.reason!r:.80}, set aside {row.set_aside}; its numbers say {seed.reason!r}"


def _is_measured(seed: Verdict) -> bool:
    """True when steps 1 to 4 of the rule passed: right, timed, every length there."""
    return bool(seed.relative)


def _is_bad(row: Experiment, seed: Verdict) -> bool:
    """Times that make no speedup leave a row without a score, but with the times."""
    return seed.status is Status.INVALID or (seed.rule == Rule.STAGE_FAILED and bool(row.mj_us))


def _wants(row: Experiment, status: Status, rule: str) -> Iterator[str]:
    if (row.status, row.rule) != (status, rule):
        yield f"says {row.status.value} ({row.rule!s:.40}), but its numbers make it {status.value} ({rule})"
