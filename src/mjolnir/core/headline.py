"""The headline: how much faster one kernel is than another, from rounds in which both were timed side by side."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from mjolnir.core.stats import geomean, mean, stdev
from mjolnir.core.student import t_quantile_975

Round = Mapping[str, Mapping[int, float]]
"""{role: {L in tokens: time of one call in microseconds}}, all of one round."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A ratio of times, > 1: faster. `value` is the geomean over L and rounds, `low` and `high` its 95 % interval,
    `per_length` the geomean over the rounds by L in tokens, ascending."""

    value: float
    low: float
    high: float
    per_length: Mapping[int, float] = field(default_factory=dict)

    def covers(self, low: float, high: float) -> bool:
        """True when the interval shares a value with low..high."""
        return self.low <= high and low <= self.high


def estimate_ratio(rounds: Sequence[Round], *, slow: str, fast: str) -> Estimate:
    """How much faster the role `fast` is than `slow`.

    A round gives one number, the mean over L of ln(time of slow / time of fast), in which all that disturbed the round
    is contained; over the rounds these scatter, and the interval is mean -/+ t(97.5 %, rounds - 1) sd / sqrt(rounds),
    as ratios. Raises ValueError for fewer than two rounds, rounds with other L, or a time that is not finite and
    positive; KeyError for a role that is not there.
    """
    if len(rounds) < 2:
        raise ValueError("an interval needs two rounds or more")
    ratios = [_ratios(one[slow], one[fast]) for one in rounds]
    if any(one.keys() != ratios[0].keys() for one in ratios):
        raise ValueError("the rounds have different lengths")
    logs = [mean(math.log(x) for x in one.values()) for one in ratios]
    centre = mean(logs)
    reach = t_quantile_975(len(logs) - 1) * stdev(logs) / math.sqrt(len(logs))
    return Estimate(
        value=math.exp(centre),
        low=math.exp(centre - reach),
        high=math.exp(min(centre + reach, 700.0)),
        per_length={tokens: geomean(one[tokens] for one in ratios) for tokens in sorted(ratios[0])},
    )


def _ratios(slow_us: Mapping[int, float], fast_us: Mapping[int, float]) -> dict[int, float]:
    if not slow_us or slow_us.keys() != fast_us.keys():
        raise ValueError("the two kernels were timed at different lengths")
    for time_us in (*slow_us.values(), *fast_us.values()):
        if not (math.isfinite(time_us) and time_us > 0):
            raise ValueError(f"{time_us} is no time: finite and positive")
    return {tokens: slow_us[tokens] / fast_us[tokens] for tokens in slow_us}
