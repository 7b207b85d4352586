"""The keep rule `seed`: one row against the champion's row, one verdict. Docs: docs/keep-rule.md.

Reads no clock, no file and no environment, and raises on nothing that a ledger can hold.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from mjolnir.core.lengths import join_labels, length_label, parse_length
from mjolnir.core.model import Experiment, KeepPolicy, Rule, Status, Verdict
from mjolnir.core.per_length import divide_per_length, positive_number, read_per_length
from mjolnir.core.stats import geomean

Row: TypeAlias = Mapping[str, Any] | Experiment

ROUNDING = 1e-9
"""What a threshold of steps 6 and 7 adds, so that the last bit of a division does not decide. A ratio."""


def judge(
    row: Row,
    best: Row | None,
    *,
    min_gain: float = 0.02,
    noise: float = 0.03,
    required: Iterable[int | str] | None = None,
) -> Verdict:
    """The verdict on `row` against the champion's row `best` (None: there is none yet).

    row, best  a mapping with the ledger's JSON keys, or an Experiment
    min_gain   what the geomean must gain at least (0.02: 2 %)
    noise      how far below the champion an L may lie before it counts as slower (0.03: 3 %)
    required   lengths that both rows must have, beside those that either has

    Raises ValueError for a min_gain or noise that is negative or no number, and for a required length that is none.
    """
    policy = make_policy(min_gain=min_gain, noise=noise, required=required)
    return _judge_outcome(row) or _judge_scores(row, best, policy) or _judge_lengths(row, best, policy)


def make_policy(*, min_gain: float, noise: float, required: Iterable[int | str] | None = None) -> KeepPolicy:
    """The numbers of the rule, checked. Raises ValueError as `judge`."""
    lengths = tuple(sorted({parse_length(tokens) for tokens in required or ()}))
    return KeepPolicy(min_gain=_ratio("min_gain", min_gain), noise=_ratio("noise", noise), required=lengths)


def _ratio(name: str, value: object) -> float:
    number = 0.0 if value == 0 else positive_number(value)
    if number is None or isinstance(value, bool):
        raise ValueError(f"{name} must be a finite ratio of 0 or more (0.02 is 2 %)")
    return number


def _field(row: Row | None, name: str) -> Any:
    return row.get(name) if isinstance(row, Mapping) else getattr(row, name, None)


def _judge_outcome(row: Row) -> Verdict | None:
    """Steps 1 and 2: was it right, and was it measured at all?"""
    score, correctness = _field(row, "score"), _field(row, "correctness")
    if correctness == "fail" or (score is not None and correctness != "pass"):
        return Verdict(status=Status.DISCARD, rule=Rule.INCORRECT, reason="correctness failed")
    if score is None:
        return Verdict(status=Status.CRASH, rule=Rule.STAGE_FAILED, reason="no score (a stage failed)")
    return None


def _judge_scores(row: Row, best: Row | None, policy: KeepPolicy) -> Verdict | None:
    """Step 3: a score that is none, a first row, a champion from before there was anything per L."""
    score = positive_number(_field(row, "score"))
    if score is None:
        return _bad_numbers("the score is not finite and positive")
    if best is None:
        return Verdict(status=Status.BASELINE, rule=Rule.STARTING_KERNEL, reason="the starting kernel")
    per_length = _field(best, "per_L")
    if per_length is None or per_length == {}:
        return _plain_rule(score, positive_number(_field(best, "score")), policy)
    return None


def _plain_rule(score: float, best_score: float | None, policy: KeepPolicy) -> Verdict:
    if best_score is None:
        return _bad_numbers("the champion's score is not finite and positive")
    ratio = score / best_score
    if positive_number(ratio) is None:
        return _bad_numbers("score / the champion's score is not finite and positive")
    if score > best_score * (1 + policy.min_gain):
        status, rule, sign = Status.KEEP, Rule.GAIN, ">"
    else:
        status, rule, sign = Status.DISCARD, Rule.GAIN_TOO_SMALL, "<="
    reason = f"score {_percent(ratio)} {sign} {_percent(1 + policy.min_gain)} (no per-L reference)"
    return Verdict(status=status, rule=rule, reason=reason)


def _bad_numbers(what: str) -> Verdict:
    return Verdict(status=Status.INVALID, rule=Rule.BAD_NUMBERS, reason=f"bad numbers: {what}")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sides:
    """Both rows' speedups and reference times, {L in tokens: number}."""

    new: dict[int, float]
    old: dict[int, float]
    new_reference_us: dict[int, float]
    old_reference_us: dict[int, float]


def _read_sides(row: Row, best: Row | None) -> _Sides:
    return _Sides(
        new=read_per_length(_field(row, "per_L"), "per_L"),
        old=read_per_length(_field(best, "per_L"), "the champion's per_L"),
        new_reference_us=read_per_length(_field(row, "fi_us"), "the reference time"),
        old_reference_us=read_per_length(_field(best, "fi_us"), "the champion's reference time"),
    )


def _judge_lengths(row: Row, best: Row | None, policy: KeepPolicy) -> Verdict:
    """Steps 4 and 5: every L on both sides, then the ratios."""
    try:
        sides = _read_sides(row, best)
    except ValueError as e:
        return _bad_numbers(str(e))
    relative = divide_per_length(sides.new, sides.old)
    lacking = (sides.new.keys() | sides.old.keys() | set(policy.required)) - relative.keys()
    if lacking:
        reason = f"the sweep lacks {join_labels(lacking)}: a subset is never a keep"
        return Verdict(status=Status.DISCARD, rule=Rule.PARTIAL_SWEEP, reason=reason)
    if any(positive_number(x) is None for x in relative.values()):
        return _bad_numbers("per_L / the champion's per_L is not finite and positive")
    return _judge_relative(relative, sides, policy)


def _judge_relative(relative: dict[int, float], sides: _Sides, policy: KeepPolicy) -> Verdict:
    """Steps 6 to 10, with what was not trusted said in the reason."""
    drift = divide_per_length(sides.new_reference_us, sides.old_reference_us)
    moved = {tokens for tokens in relative if abs(drift.get(tokens, 1.0) - 1) > policy.reference_jump + ROUNDING}
    trusted = {tokens: x for tokens, x in relative.items() if tokens not in moved}
    if len(moved) > policy.max_set_aside or not trusted:
        reason = f"FlashInfer reference unstable at {join_labels(moved)}; re-evaluate"
        status, rule, gain = Status.NOISY, Rule.REFERENCE_UNSTABLE, None
    else:
        gain = geomean(trusted.values()) - 1
        status, rule, reason = _judge_trusted(trusted, policy)
        reason += _set_aside_note(moved) + _unchecked_note(relative.keys() - drift.keys(), len(relative))
    return Verdict(
        status=status, rule=rule, reason=reason, gain=gain, relative=relative, set_aside=tuple(sorted(moved))
    )


def _judge_trusted(trusted: Mapping[int, float], policy: KeepPolicy) -> tuple[Status, Rule, str]:
    """Steps 7 to 10 on {L: relative}, not empty."""
    gain = geomean(trusted.values())
    text = f"geomean {_percent(gain)}"
    if gain <= 1 + policy.min_gain + ROUNDING:
        return Status.DISCARD, Rule.GAIN_TOO_SMALL, f"{text} <= {_percent(1 + policy.min_gain)}"
    top = max(sorted(trusted), key=lambda tokens: trusted[tokens])
    # One L alone has no others to bear it out: the rest then counts as unchanged.
    rest = geomean([x for tokens, x in trusted.items() if tokens != top] or [1.0])
    if rest <= 1 + policy.min_gain / 2:
        peak = _percent(trusted[top])
        return (
            Status.DISCARD,
            Rule.RESTS_ON_ONE_LENGTH,
            f"{text} rests on {length_label(top)} ({peak}): {_percent(rest)} without it",
        )
    slower = {tokens: x for tokens, x in trusted.items() if x < 1 - policy.noise}
    if len(slower) > policy.max_slower:
        places = ", ".join(f"{length_label(tokens)} ({_percent(x)})" for tokens, x in sorted(slower.items()))
        return Status.DISCARD, Rule.SLOWER_AT_SEVERAL, f"{text} but slower at {places}"
    return Status.KEEP, Rule.GAIN, f"{text}, {_percent(rest)} without its best L ({length_label(top)})"


def _set_aside_note(moved: Iterable[int]) -> str:
    labels = join_labels(moved)
    return f" (set aside, reference moved: {labels})" if labels else ""


def _unchecked_note(unchecked: Iterable[int], length_count: int) -> str:
    """Which L had no reference time on one side or both: step 6 could not look at them."""
    lengths = set(unchecked)
    if not lengths:
        return ""
    return " (reference not checked)" if len(lengths) == length_count else f" (no reference at {join_labels(lengths)})"


def _percent(ratio: float) -> str:
    """1.0512 -> "+5.1%", 0.94 -> "-6%"."""
    percent = (ratio - 1) * 100
    if abs(percent) >= 1e6:
        return f"{percent:+.3g}%"
    return f"{round(percent, 1) + 0.0:+.1f}".removesuffix(".0") + "%"
