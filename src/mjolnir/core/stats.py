"""Means and spreads, each with one home. No input is a ValueError here, never a guess such as 1.0 or None.

Sums go through `math.fsum`, so a result does not depend on the order of its input.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence


def mean(values: Iterable[float]) -> float:
    """The arithmetic mean. Raises ValueError without values."""
    xs = _some(values)
    return math.fsum(xs) / len(xs)


def median(values: Iterable[float]) -> float:
    """The middle value, or the mean of the middle two. Raises ValueError without values."""
    xs = sorted(_some(values))
    half = len(xs) // 2
    return xs[half] if len(xs) % 2 else mean(xs[half - 1 : half + 1])


def geomean(values: Iterable[float]) -> float:
    """The geometric mean of positive numbers: exp(mean(ln x)).

    Never outside the smallest and the largest value, whatever the rounding; equal values give that value exactly.
    Raises ValueError without values, or for one that is not finite and positive.
    """
    xs = _some(values)
    return _exp_within(mean(_logs(xs)), min(xs), max(xs))


def stdev(values: Iterable[float]) -> float:
    """The sample standard deviation (n - 1). Raises ValueError for fewer than two values."""
    xs = _some(values)
    if len(xs) < 2:
        raise ValueError("a spread needs two values or more")
    centre = mean(xs)
    return math.sqrt(math.fsum((x - centre) ** 2 for x in xs) / (len(xs) - 1))


def cv(values: Iterable[float]) -> float:
    """The coefficient of variation: sample standard deviation / mean, a ratio (0.02 is 2 %).

    Raises ValueError for fewer than two values or a mean of zero.
    """
    xs = _some(values)
    spread, centre = stdev(xs), mean(xs)
    if centre == 0:
        raise ValueError("a coefficient of variation needs a mean other than zero")
    return spread / abs(centre)


def trimmed_mean(values: Iterable[float], *, part: float = 0.25) -> float:
    """The mean without the smallest and the largest `part` of the values (each rounded down to whole values).

    Raises ValueError without values, or for a `part` outside 0 <= part < 0.5.
    """
    if not 0 <= part < 0.5:
        raise ValueError(f"part is {part}: from each end less than half can be left out")
    xs = sorted(_some(values))
    cut = int(len(xs) * part)
    return mean(xs[cut : len(xs) - cut])


def trimmed_geomean(values: Iterable[float], *, part: float = 0.25) -> float:
    """exp(trimmed mean of ln x): for ratios of times, where a few blocks were disturbed.

    Raises ValueError as `geomean` and `trimmed_mean`.
    """
    xs = _some(values)
    return _exp_within(trimmed_mean(_logs(xs), part=part), min(xs), max(xs))


def _some(values: Iterable[float]) -> Sequence[float]:
    xs = list(values)
    if not xs:
        raise ValueError("no values")
    return xs


def _logs(values: Sequence[float]) -> list[float]:
    for x in values:
        if not (math.isfinite(x) and x > 0):
            raise ValueError(f"{x} has no logarithm here: finite and positive numbers only")
    return [math.log(x) for x in values]


def _exp_within(exponent: float, smallest: float, largest: float) -> float:
    # ln of the largest float, rounded up by one ulp, would overflow in exp.
    value = largest if exponent >= math.log(largest) else math.exp(exponent)
    return min(max(value, smallest), largest)
