"""One measured figure: its samples, what stands for them, and the bound it has to keep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """`ours` and `peer` are samples of the same rounds, in `unit`, in measuring order.

    is_ratio  True: the figure is the median over the rounds of ours / peer (below 1: ours needs less).
              False: the figure is the median of `ours`; `peer`, if any, is there to compare.
    at_least  True: the figure has to reach the bound; False: it may not pass it.
    raw       what the samples were worked out from, for the results file.
    """

    name: str
    unit: str
    ours: Sequence[float]
    bound: float
    peer: Sequence[float] = ()
    is_ratio: bool = False
    at_least: bool = False
    note: str = ""
    raw: dict[str, Any] = field(default_factory=dict)

    @property
    def samples(self) -> list[float]:
        """What the figure is the median of: one number a round."""
        if self.is_ratio:
            return [ours / peer for ours, peer in zip(self.ours, self.peer, strict=True)]
        return list(self.ours)

    @property
    def value(self) -> float:
        return median(self.samples)

    @property
    def ratio(self) -> float | None:
        """Ours / peer, whether the bound is on it or not; None without a peer, or where the peer's is no cost."""
        if not self.peer or median(self.peer) <= 0:
            return None
        return self.value if self.is_ratio else median(self.ours) / median(self.peer)

    @property
    def ok(self) -> bool:
        return self.value >= self.bound if self.at_least else self.value <= self.bound

    def as_json(self) -> dict[str, Any]:
        """Plain JSON values, numbers with 6 significant digits."""
        return {
            "name": self.name,
            "unit": self.unit,
            "value": _short(self.value),
            "value_is": "ours / peer" if self.is_ratio else "ours",
            "spread": [_short(min(self.samples)), _short(max(self.samples))],
            "bound": self.bound,
            "bound_is": "at least" if self.at_least else "at most",
            "ok": self.ok,
            "ours": [_short(x) for x in self.ours],
            "peer": [_short(x) for x in self.peer],
            "note": self.note,
        } | ({"raw": self.raw} if self.raw else {})


def _short(value: float) -> float:
    return float(f"{value:.6g}")
