"""Does a kernel have two speeds? Some processes draw the slow one for all their life, and no mean says so.

The test: the best cut of the sorted values into two clusters (least sum of squares within), called clear when the
clusters' means are at least SEPARATION times the standard deviation within them apart (more for few values), each holds
a fifth of the values or more, and no two neighbours inside a cluster are further apart than the clusters are. Values of
one bell-shaped cluster, cut at their best place, come to about 2.7, and evenly spread ones to 3.5. In simulation 12
rounds of one speed are called two in fewer than 1 of 100 cases, and two speeds 16 % apart are found in 9 of 10 or more.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from mjolnir.core.stats import mean, median

LEAST_VALUES = 6
"""Fewer never show two clusters."""
SEPARATION = 4.0
FEW_VALUES = 4
"""With 8 values the separation asked for is 1 + 4/8 times SEPARATION, with 80 it is 1.05 times that."""
LEAST_PART = 0.2
LEAST_STEP = 0.01
"""Two speeds less than 1 % apart are no finding: they are noise that any rule here stands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Modes:
    """Two speeds of one program at one L. `fast` and `slow` are times as ratios of the fast one (so `fast` is 1.0);
    `slow_share` is the part of the processes that were slow, None where only differences between processes show it."""

    fast: float
    slow: float
    slow_share: float | None

    def as_json(self) -> dict[str, float | None]:
        """Plain JSON values."""
        return {"fast": self.fast, "slow": self.slow, "slow_share": self.slow_share}


def find_modes(pairs: Sequence[tuple[float, float]]) -> Modes | None:
    """The two speeds behind the times of one program against itself, or None.

    pairs  the two times of each round at one L, in one unit, finite and positive

    Looks at the times of all legs, levelled by their median, and, since a drift between rounds blurs those, at the
    distance |ln(a / b)| within the rounds too. Two levels that both legs of every round share are a device that changed
    its clock between rounds, not a program with two speeds.
    """
    middle = median(time for pair in pairs for time in pair)
    levels = [(math.log(a / middle), math.log(b / middle)) for a, b in pairs]
    cut = _clear_cut([x for pair in levels for x in pair])
    if cut is not None and any((a <= cut.low_end) != (b <= cut.low_end) for a, b in levels):
        return Modes(fast=1.0, slow=math.exp(cut.step), slow_share=cut.high_share)
    distances = [abs(a - b) for a, b in levels]
    cut = _clear_cut(distances)
    if cut is None:
        return None
    same = math.sqrt(mean(x * x for x in distances if x <= cut.low_end))
    if cut.high_start < _separation(len(distances)) * same:
        return None
    return Modes(fast=1.0, slow=math.exp(cut.step), slow_share=None)


@dataclass(frozen=True, slots=True)
class _Cut:
    """`low_end`, `high_start`: where the lower cluster ends and the upper one starts; `step`: between their means."""

    low_end: float
    high_start: float
    step: float
    high_share: float


def _clear_cut(values: Sequence[float]) -> _Cut | None:
    """The cut, when both clusters stand clear of one another."""
    if len(values) < LEAST_VALUES:
        return None
    xs = sorted(values)
    place, within = _best_place(xs)
    low, high = xs[:place], xs[place:]
    step, gap = mean(high) - mean(low), high[0] - low[-1]
    is_even = min(len(low), len(high)) >= LEAST_PART * len(xs)
    is_apart = step >= _separation(len(xs)) * within and step >= LEAST_STEP
    is_close = all(b - a < gap for part in (low, high) for a, b in pairwise(part))
    if not (is_even and is_apart and is_close):
        return None
    return _Cut(low_end=low[-1], high_start=high[0], step=step, high_share=len(high) / len(xs))


def _separation(count: int) -> float:
    """SEPARATION, and more for few values: their best cut looks clearer than it is."""
    return SEPARATION * (1 + FEW_VALUES / count)


def _best_place(xs: Sequence[float]) -> tuple[int, float]:
    """How many of the sorted values go to the lower cluster, and the pooled standard deviation within both."""
    total, count = math.fsum(xs), len(xs)
    below, best, best_between = 0.0, 1, -1.0
    for place in range(1, count):
        below += xs[place - 1]
        step = (total - below) / (count - place) - below / place
        between = step * step * place * (count - place) / count
        if between > best_between:
            best, best_between = place, between
    within = math.fsum((x - mean(part)) ** 2 for part in (xs[:best], xs[best:]) for x in part)
    return best, math.sqrt(within / (count - 2))
