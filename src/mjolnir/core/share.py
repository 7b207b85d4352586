"""A share of tries with its 95 % interval."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Z = 1.959964
"""Of a two-sided 95 % interval."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """`hits` of `trials` as a ratio 0 to 1, and the ends of its 95 % interval."""

    value: float
    low: float
    high: float
    hits: int
    trials: int

    def as_json(self) -> dict[str, float]:
        """Plain JSON values."""
        return {"value": self.value, "low": self.low, "high": self.high, "hits": self.hits, "trials": self.trials}


def wilson_share(hits: int, trials: int) -> Share:
    """The share with Wilson's score interval (E. B. Wilson, JASA 22, 1927), which is sound at 0 and at 1 too.

    Raises ValueError for counts that are none.
    """
    if not 0 <= hits <= trials or trials < 1:
        raise ValueError(f"{hits} of {trials} is no share")
    value, weight = hits / trials, Z * Z / trials
    centre = (value + weight / 2) / (1 + weight)
    half = Z * math.sqrt(value * (1 - value) / trials + weight / (4 * trials)) / (1 + weight)
    low, high = min(value, max(0.0, centre - half)), max(value, min(1.0, centre + half))
    return Share(value=value, low=low, high=high, hits=hits, trials=trials)


def read_share(values: Any) -> Share:
    """What `as_json` wrote; the interval is worked out anew. Raises ValueError for anything else."""
    if not isinstance(values, Mapping):
        raise ValueError("a share is a mapping with hits and trials")
    hits, trials = values.get("hits"), values.get("trials")
    if type(hits) is not int or type(trials) is not int:
        raise ValueError("a share needs whole numbers of hits and trials")
    return wilson_share(hits, trials)
