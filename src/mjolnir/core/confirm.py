"""The keep rule `confirmed`: `screen` drops what an ordinary run shows to be no gain, `decide` asks whether luck made
the rest. Docs: docs/keep-rule.md.

Neither reads a clock, a file or the environment, and neither raises on anything that a ledger can hold. Every
logarithm is natural, so 0.02 is about 2 %.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mjolnir.core.judge import ROUNDING, Row, judge
from mjolnir.core.model import Rule, Status
from mjolnir.core.per_length import divide_per_length, positive_number, read_per_length
from mjolnir.core.stats import mean, median, stdev

REFERENCE_JUMP, MAX_SET_ASIDE, PASS_GAIN = 0.10, 2, 0.01
"""`screen`: see there."""
LEAST_TRUSTED = (3, 4)
"""The part of the L that a screening run must trust at least (rounded up: 6 of 8)."""
TRIM_FROM = 5
"""From this many values on, `trim` leaves out the largest and the smallest."""
FIRST_ROUND_GAIN = 0.005  # a ratio minus 1
LEAST_T = {1: 2.0, 2: 2.9}
"""What t must exceed, by attempt: a second try at the same program has to show more, or trying again would pay."""
SLOWER_BELOW = 0.97
"""An L whose mean over the rounds is below this counts as slower. A ratio, > 1: the candidate is faster."""
MAX_SLOWER = 1
DEEP_BELOW = 0.92
"""An L below this in every round is deep: one is too many. A ratio as SLOWER_BELOW."""
MAX_ROUNDS, SE_FLOOR = 3, 0.002
"""`decide`: the most rounds, and the standard error on the log scale where no calibration says more."""
_LARGEST_LOG = math.log(math.nextafter(math.inf, 0.0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Screen:
    """What an ordinary run (reference, candidate) says. `status` and `rule` None: go on to the confirmation.

    gain       trimmed geomean of the speedups over the champion's, minus 1; None when not reached
    set_aside  L in tokens that were not trusted in this run, ascending
    """

    status: Status | None
    rule: str | None
    gain: float | None = None
    set_aside: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What the rounds measured so far say. `more`: one more round must be measured first; status and rule are None.

    gain    exp(m) - 1, a ratio minus 1 (0.05: 5 % faster than the champion)
    m       the trimmed mean over L of the mean over rounds of ln(champion's time / candidate's time)
    se, t   the standard error of m, and m / se; None after one round, which shows no scatter
    slower  L in tokens that lost more than 3 % in the mean of the rounds, ascending
    deep    L in tokens that lost more than 8 % in every round, ascending

    Numbers that cannot be read leave everything None and empty.
    """

    status: Status | None
    rule: str | None
    gain: float | None = None
    m: float | None = None
    se: float | None = None
    t: float | None = None
    slower: tuple[int, ...] = ()
    deep: tuple[int, ...] = ()
    more: bool = False


def trim(values: Iterable[float]) -> float:
    """The mean without one largest and one smallest value; of fewer than 5 values the plain mean.

    One disturbed L on either side then moves nothing. Raises ValueError without values.
    """
    xs = sorted(values)
    return mean(xs[1:-1] if len(xs) >= TRIM_FROM else xs)


def screen(
    row: Row,
    best: Row | None,
    *,
    reference_jump: float = REFERENCE_JUMP,
    max_set_aside: int = MAX_SET_ASIDE,
    pass_gain: float = PASS_GAIN,
) -> Screen:
    """Is `row`, an ordinary run, worth a confirmation against the champion's row `best`?

    row, best       a mapping with the ledger's JSON keys, or an Experiment
    reference_jump  how far the reference may move at an L against the other L before that L is set aside (0.10: 10 %)
    max_set_aside   how many L may be set aside
    pass_gain       what the trimmed geomean must gain at least (0.01: 1 %)

    Steps 1 to 4 of `judge` come first and are final: a wrong or crashed kernel, a first row or a subset of the lengths
    has their status here too. Raises ValueError for a keyword that is negative or no number.
    """
    _check_ratio("reference_jump", reference_jump)
    _check_ratio("max_set_aside", max_set_aside)
    _check_ratio("pass_gain", pass_gain)
    verdict = judge(row, best)
    if not verdict.relative:  # only steps 1 to 5 leave it empty
        return Screen(status=verdict.status, rule=verdict.rule)
    moved = _moved_references(row, best, verdict.relative, reference_jump)
    trusted = [x for tokens, x in verdict.relative.items() if tokens not in moved]
    part, whole = LEAST_TRUSTED
    if len(moved) > max_set_aside or len(trusted) * whole < len(verdict.relative) * part:
        return Screen(status=Status.NOISY, rule=Rule.REFERENCE_UNSTABLE, set_aside=moved)
    gain = _gain(trim(math.log(x) for x in trusted))
    if gain <= pass_gain + ROUNDING:
        return Screen(status=Status.DISCARD, rule=Rule.GAIN_TOO_SMALL, gain=gain, set_aside=moved)
    return Screen(status=None, rule=None, gain=gain, set_aside=moved)


def decide(
    rounds: Sequence[Mapping[Any, Any]], *, min_gain: float = 0.02, attempt: int = 1, se_floor: float = SE_FLOOR
) -> Decision:
    """The verdict on a candidate that was run beside the champion, or that another round is needed.

    rounds    one to three mappings {L: (champion's time, candidate's time)}, in measuring order; both times of a pair
              in one unit. L as "4096", 4096 or "4K"; lists stand for tuples, so a ledger's own JSON can be given.
    min_gain  what the gain must exceed (0.02: 2 %)
    attempt   1, or 2 for a program that was measured once before and is tried again
    se_floor  what the standard error is taken to be at least, on the log scale (0.002: 0.2 %)

    Rounds that do not have the same L, or hold anything but finite and positive times, are `invalid`. Whether an
    earlier round alone would already have ended it is not asked again: `decide(rounds[:1])` answers that.
    Raises ValueError for more than three rounds, an attempt other than 1 and 2, and a min_gain or se_floor that is
    negative or no number.
    """
    _check_ratio("min_gain", min_gain)
    _check_ratio("se_floor", se_floor)
    if isinstance(attempt, bool) or attempt not in tuple(LEAST_T):
        raise ValueError("attempt must be 1 or 2")
    if isinstance(rounds, list | tuple) and len(rounds) > MAX_ROUNDS:
        raise ValueError(f"{len(rounds)} rounds: a confirmation has at most {MAX_ROUNDS}")
    try:
        logs = _read_rounds(rounds)
    except ValueError:
        return Decision(status=Status.INVALID, rule=Rule.BAD_NUMBERS)
    if len(logs) == 1:
        return _decide_first(logs)
    return _decide_later(logs, math.log1p(min_gain), LEAST_T[attempt], se_floor)


def _check_ratio(name: str, value: object) -> None:
    if isinstance(value, bool) or (value != 0 and positive_number(value) is None):
        raise ValueError(f"{name} must be a finite number of 0 or more")


def _gain(log_ratio: float) -> float:
    """exp(log_ratio) - 1, never beyond a float."""
    return math.expm1(min(log_ratio, _LARGEST_LOG))


def _moved_references(row: Row, best: Row | None, lengths: Iterable[int], jump: float) -> tuple[int, ...]:
    """The L at which the reference moved by more than `jump` against what it moved by at the middle L.

    A drift of the whole device moves every L alike and sets none aside. An L without a reference time on one of the
    sides cannot be looked at and stays trusted, as in step 6 of `judge`.
    """
    new, old = (read_per_length(_reference_us(side), "the reference time") for side in (row, best))
    drift = {n: math.log(new[n]) - math.log(old[n]) for n in lengths if n in new and n in old}
    common = median(drift.values()) if drift else 0.0
    return tuple(sorted(tokens for tokens, x in drift.items() if abs(_gain(x - common)) > jump + ROUNDING))


def _reference_us(row: Row | None) -> Any:
    return row.get("fi_us") if isinstance(row, Mapping) else getattr(row, "fi_us", None)


def _read_rounds(rounds: object) -> list[dict[int, float]]:
    """{L: ln(champion's time / candidate's time)} for each round. Raises ValueError for what is no such list."""
    if not isinstance(rounds, list | tuple) or not rounds:
        raise ValueError("no rounds")
    logs = [_read_round(pairs) for pairs in rounds]
    if any(x.keys() != logs[0].keys() for x in logs):
        raise ValueError("the rounds have different lengths")
    return logs


def _read_round(pairs: object) -> dict[int, float]:
    if not isinstance(pairs, Mapping) or not pairs:
        raise ValueError("a round is a mapping of lengths and not empty")
    if not all(isinstance(pair, list | tuple) and len(pair) == 2 for pair in pairs.values()):
        raise ValueError("a round has two times an L: the champion's, the candidate's")
    champion = read_per_length({k: pair[0] for k, pair in pairs.items()}, "the champion's time")
    candidate = read_per_length({k: pair[1] for k, pair in pairs.items()}, "the candidate's time")
    ratios = divide_per_length(champion, candidate)
    if any(positive_number(x) is None for x in ratios.values()):
        raise ValueError("a ratio of two times is beyond a float")
    return {tokens: math.log(x) for tokens, x in ratios.items()}


def _decide_first(logs: Sequence[Mapping[int, float]]) -> Decision:
    """After round 1: most of what luck let through the screen ends here, at the price of one round."""
    m, (slower, deep) = trim(logs[0].values()), _losses(logs)
    more = m > math.log1p(FIRST_ROUND_GAIN) + ROUNDING
    status, rule = (None, None) if more else (Status.DISCARD, Rule.NOT_CONFIRMED)
    return Decision(status=status, rule=rule, gain=_gain(m), m=m, slower=slower, deep=deep, more=more)


def _decide_later(logs: Sequence[Mapping[int, float]], least_m: float, least_t: float, se_floor: float) -> Decision:
    """After round 2 or 3: a gain beyond the scatter, and no L that pays for it."""
    m, (slower, deep) = trim(_means(logs).values()), _losses(logs)
    se = max(se_floor, _standard_error(logs))
    t = m / se if se > 0 else math.inf * m if m else 0.0
    status: Status | None
    rule: Rule | None
    if not (m > least_m + ROUNDING and t > least_t + ROUNDING):
        status, rule = Status.DISCARD, Rule.NOT_CONFIRMED
    elif len(slower) > MAX_SLOWER or (deep and len(logs) == MAX_ROUNDS):
        status, rule = Status.DISCARD, Rule.SLOWER_AT_SEVERAL
    elif deep:  # a process may have drawn the slow one of two modes twice; a third round shows it
        status, rule = None, None
    else:
        status, rule = Status.KEEP, Rule.GAIN
    return Decision(
        status=status, rule=rule, gain=_gain(m), m=m, se=se, t=t, slower=slower, deep=deep, more=status is None
    )


def _means(logs: Sequence[Mapping[int, float]]) -> dict[int, float]:
    return {tokens: mean(x[tokens] for x in logs) for tokens in logs[0]}


def _standard_error(logs: Sequence[Mapping[int, float]]) -> float:
    """Of the mean over L, from the scatter between the rounds, on the log scale.

    The largest variance counts as the second largest: one L that changes its mode from process to process is left out
    by `trim` too. With one L alone there is none to put in its place.
    """
    variances = sorted(stdev([x[tokens] for x in logs]) ** 2 / len(logs) for tokens in logs[0])
    if len(variances) > 1:
        variances[-1] = variances[-2]
    return math.sqrt(math.fsum(variances)) / len(variances)


def _losses(logs: Sequence[Mapping[int, float]]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The L that are slower in the mean of the rounds, and those that are deep in each of them, ascending."""
    least, least_deep = math.log(SLOWER_BELOW) - ROUNDING, math.log(DEEP_BELOW) - ROUNDING
    slower = tuple(sorted(tokens for tokens, x in _means(logs).items() if x < least))
    deep = tuple(sorted(tokens for tokens in logs[0] if all(x[tokens] < least_deep for x in logs)))
    return slower, deep
