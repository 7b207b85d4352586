"""`screen` and `decide` of the rule `confirmed`, written a second time from the text of the design alone.

They were written without reading `mjolnir.core.confirm`, are plain on purpose, follow the order of the text, and share
nothing with the package. "Reading:" marks each place where the text leaves a choice; those on rows with different L,
on no rounds and on an error of zero were settled when the two were first compared. Both note how near the nearest
threshold was: on a number that lies on a threshold two honest implementations may round to different sides.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from second_judge import by_length, finite_and_positive, length_of, steps_1_to_3, value_of, what_is_missing

T_NEEDED = {1: 2.0, 2: 2.9}


@dataclass
class Screened:
    """What this second screen says. `clause` names the branch; `distance` is how near the nearest threshold was."""

    status: str | None
    rule: str | None
    clause: str
    gain: float | None = None
    set_aside: tuple[int, ...] = ()
    distance: float = math.inf


@dataclass
class Decided:
    """What this second decide says. `clause` names the branch; `distance` is how near the nearest threshold was."""

    status: str | None
    rule: str | None
    clause: str
    gain: float | None = None
    m: float | None = None
    se: float | None = None
    t: float | None = None
    slower: tuple[int, ...] = ()
    deep: tuple[int, ...] = ()
    more: bool = False
    distance: float = math.inf


def second_screen(
    row: Any, best: Any, *, reference_jump: float = 0.10, max_set_aside: int = 2, pass_gain: float = 0.01
) -> Screened:
    """Whether the ordinary run is worth a confirmation. Status None: go on to confirm."""
    # Reading: "judge's steps 1 to 4 run first and are final" is the word on an L that one of the rows lacks as well;
    # "unequal L sets" is about rounds.
    first = steps_1_to_3(row, best, min_gain=0.02)
    if first is not None:
        return Screened(first.status, first.rule, first.clause)
    tables = []
    for side in (row, best):
        for name in ("per_L", "fi_us"):
            table = by_length(value_of(side, name))
            if isinstance(table, str):
                return Screened("invalid", "bad_numbers", f"4 {table} in {name}")
            tables.append(table)
    row_per_l, row_reference, best_per_l, best_reference = tables
    missing = what_is_missing(row_per_l, best_per_l, required=None)
    if missing:
        return Screened("discard", "partial_sweep", missing)

    y = {}
    for length in sorted(row_per_l):
        ratio = row_per_l[length] / best_per_l[length]
        # Reading, as in judge: two good numbers whose ratio leaves the range of a float are bad numbers too.
        if not finite_and_positive(ratio):
            return Screened("invalid", "bad_numbers", "ratio out of range")
        y[length] = math.log(ratio)
    # Reading: an L without a reference time on one of the sides has not moved and is no part of the median.
    moved = {}
    for length in y:
        if length in row_reference and length in best_reference:
            moved[length] = math.log(row_reference[length]) - math.log(best_reference[length])
    return screen_trusted(y, moved, reference_jump, max_set_aside, pass_gain)


def screen_trusted(
    y: dict[int, float], moved: dict[int, float], reference_jump: float, max_set_aside: int, pass_gain: float
) -> Screened:
    set_aside = []
    distance = math.inf
    if moved:
        c = median(list(moved.values()))
        for length, log_ratio in moved.items():
            # Beyond a float it is beyond any threshold.
            r = math.exp(min(log_ratio - c, 700.0)) - 1
            distance = min(distance, abs(abs(r) - reference_jump))
            if abs(r) > reference_jump:
                set_aside.append(length)
    trusted = [length for length in y if length not in set_aside]

    if len(set_aside) > max_set_aside:
        answer = Screened("noisy", "reference_unstable", "more than max_set_aside")
    elif len(trusted) < math.ceil(3 * len(y) / 4):
        answer = Screened("noisy", "reference_unstable", "fewer than 3/4 trusted")
    else:
        gain = math.exp(trim([y[length] for length in trusted])) - 1
        distance = min(distance, abs(gain - pass_gain))
        if gain <= pass_gain:
            answer = Screened("discard", "gain_too_small", "too small", gain)
        else:
            answer = Screened(None, None, "go on", gain)
    answer.set_aside = tuple(sorted(set_aside))
    answer.distance = distance
    return answer


def second_decide(rounds: Any, *, min_gain: float = 0.02, attempt: int = 1, se_floor: float = 0.002) -> Decided:
    """The verdict after one to three rounds. Raises ValueError for an attempt outside 1, 2 or more than 3 rounds."""
    if attempt not in (1, 2):
        raise ValueError("attempt is 1 or 2")
    if len(rounds) > 3:
        raise ValueError("more than 3 rounds")
    # Reading: the text names no error for no round at all; there is no number in it.
    if not rounds:
        return Decided("invalid", "bad_numbers", "no round")

    x = []
    for one_round in rounds:
        logs = logs_of(one_round)
        if isinstance(logs, str):
            return Decided("invalid", "bad_numbers", logs)
        x.append(logs)
    for logs in x:
        if set(logs) != set(x[0]):
            return Decided("invalid", "bad_numbers", "unequal L")
    if not x[0]:
        return Decided("invalid", "bad_numbers", "no L")
    return decide_on_logs(x, min_gain, T_NEEDED[attempt], se_floor)


def logs_of(one_round: Any) -> dict[int, float] | str:
    """{tokens: ln(t_champion / t_candidate)} of one round, or what is wrong with it."""
    if not isinstance(one_round, Mapping):
        return "shape"
    times: dict[int, tuple[float, float]] = {}
    for key, pair in one_round.items():
        length = length_of(key)
        if length is None:
            return "key"
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            return "pair"
        t_champion, t_candidate = pair
        if not finite_and_positive(t_champion) or not finite_and_positive(t_candidate):
            return "value"
        # Reading, as in judge: one L under two keys is fine only where both say the same.
        if length in times and times[length] != (t_champion, t_candidate):
            return "twice"
        times[length] = (t_champion, t_candidate)
    logs = {}
    for length in sorted(times):
        ratio = times[length][0] / times[length][1]
        if not finite_and_positive(ratio):
            return "ratio out of range"
        logs[length] = math.log(ratio)
    return logs


def decide_on_logs(x: list[dict[int, float]], min_gain: float, t_needed: float, se_floor: float) -> Decided:
    lengths = sorted(x[0])
    xbar = {length: sum(logs[length] for logs in x) / len(x) for length in lengths}
    m = trim(list(xbar.values()))
    slower = tuple(length for length in lengths if xbar[length] < math.log(0.97))
    deep = tuple(length for length in lengths if all(logs[length] < math.log(0.92) for logs in x))
    answer = Decided(None, None, "", gain=math.exp(m) - 1, m=m, slower=slower, deep=deep)
    answer.distance = min(
        *(abs(xbar[length] - math.log(0.97)) for length in lengths),
        *(abs(logs[length] - math.log(0.92)) for length in lengths for logs in x),
    )

    # Reading: "after round 1" is when one round is given; with more rounds, what is said is what all of them say.
    if len(x) == 1:
        answer.distance = min(answer.distance, abs(m - math.log(1.005)))
        if m <= math.log(1.005):
            return settle(answer, "discard", "not_confirmed", "round 1")
        return settle(answer, None, None, "round 1 more")

    answer.se = max(se_floor, standard_error(x, lengths))
    # Reading: a change without noise and without a floor for it is certain, and no change shows nothing.
    if answer.se > 0:
        answer.t = m / answer.se
    else:
        answer.t = 0.0 if m == 0 else math.copysign(math.inf, m)
    answer.distance = min(answer.distance, abs(m - math.log(1 + min_gain)), abs(answer.t - t_needed))
    after = f"round {len(x)}"
    if not m > math.log(1 + min_gain):
        return settle(answer, "discard", "not_confirmed", f"{after} m")
    if not answer.t > t_needed:
        return settle(answer, "discard", "not_confirmed", f"{after} t")
    if len(slower) > 1:
        return settle(answer, "discard", "slower_at_several", f"{after} slower")
    if deep and len(x) == 2:
        return settle(answer, None, None, f"{after} more")
    if deep:
        return settle(answer, "discard", "slower_at_several", f"{after} deep")
    return settle(answer, "keep", "gain", f"{after} keep")


def settle(answer: Decided, status: str | None, rule: str | None, clause: str) -> Decided:
    answer.status, answer.rule, answer.clause, answer.more = status, rule, clause, status is None
    return answer


def standard_error(x: list[dict[int, float]], lengths: list[int]) -> float:
    """Of the mean over L: each L's variance of its mean over the rounds, the largest replaced by the second largest."""
    v = []
    for length in lengths:
        values = [logs[length] for logs in x]
        mean = sum(values) / len(values)
        sample_variance = sum((value - mean) ** 2 for value in values) / (len(values) - 1)
        v.append(sample_variance / len(values))
    v.sort()
    # Reading: a single L has no second largest, so its own stays.
    if len(v) > 1:
        v[-1] = v[-2]
    return math.sqrt(sum(v)) / len(lengths)


def trim(values: list[float]) -> float:
    """The mean without the largest and the smallest value; with fewer than 5 values the plain mean."""
    values = sorted(values)
    if len(values) >= 5:
        values = values[1:-1]
    return sum(values) / len(values)


def median(values: list[float]) -> float:
    values = sorted(values)
    middle = len(values) // 2
    if len(values) % 2 == 1:
        return values[middle]
    return (values[middle - 1] + values[middle]) / 2
