"""Figures as people read them: a missing one is a dash, never a zero."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from mjolnir.core.lengths import parse_length
from mjolnir.core.model import Experiment, Status
from mjolnir.core.per_length import divide_per_length, positive_number
from mjolnir.core.plateau import gain_over_champion
from mjolnir.core.stats import geomean

DASH = "—"


def score_text(score: float | None) -> str:
    """A speedup against the reference with 4 decimals: "1.0412"."""
    if score is None or not math.isfinite(score):
        return DASH
    return f"{score:.4f}" if abs(score) < 1e5 else f"{score:.3g}"


def times_text(ratio: float | None) -> str:
    """A ratio of times: "1.041x"; > 1 is faster."""
    if ratio is None or not math.isfinite(ratio):
        return DASH
    return f"{ratio:.3f}x" if ratio < 100 else f"{ratio:.0f}x"


def gain_text(ratio: float | None) -> str:
    """A ratio as a change in percent: 1.031 is "+3.1 %"."""
    if ratio is None or not math.isfinite(ratio):
        return DASH
    percent = (ratio - 1) * 100
    return f"{percent:+.1f} %" if abs(percent) < 1000 else f"{percent:+,.0f} %"


def step_text(ratio: float | None) -> str:
    """A ratio as a reader sees it best: "+3.1 %", from twice on "5.60x"."""
    return gain_text(ratio) if ratio is None or ratio < 2 else f"{ratio:.2f}x" if ratio < 100 else f"{ratio:,.0f}x"


def us_text(time_us: float | None) -> str:
    """A time in microseconds with four digits that matter: "13.18", "2047", "0.9500"."""
    if time_us is None or not math.isfinite(time_us):
        return DASH
    if time_us <= 0 or time_us >= 1000:
        return f"{time_us:,.0f}"
    return f"{time_us:.{max(0, 3 - math.floor(math.log10(time_us)))}f}"


def when_text(ts: str | None) -> str:
    """Month, day, hour and minute of an ISO time: "03-01 00:05"."""
    return (ts or "")[5:16].replace("T", " ") or DASH


def per_length(values: Mapping[str, float]) -> dict[int, float]:
    """What can be shown of a row's mapping, by L in tokens, ascending: a key or a number that is none is left out."""
    found: dict[int, float] = {}
    for key, value in values.items():
        number = positive_number(value)
        if number is not None:
            try:
                found[parse_length(key)] = number
            except ValueError:
                continue
    return dict(sorted(found.items()))


def row_relative(row: Experiment) -> float | None:
    """How much faster than its champion a row was measured, by its best measurement (core.plateau); None: by none."""
    gain = gain_over_champion(row)
    return None if gain is None else 1 + gain


def relative_per_length(row: Experiment) -> dict[int, float]:
    """{L: champion's time / candidate's} where a keep ran beside its champion, else `vs_best`; > 1 is faster."""
    rounds = row.ab.get("rounds") if row.status is Status.KEEP and isinstance(row.ab, Mapping) else None
    found: dict[int, list[float]] = {}
    for pairs in rounds if isinstance(rounds, Sequence) else ():
        for tokens, ratio in _of_round(pairs).items():
            found.setdefault(tokens, []).append(ratio)
    if not found:
        return per_length(row.vs_best)
    return {tokens: geomean(ratios) for tokens, ratios in found.items()}


def _of_round(pairs: object) -> dict[int, float]:
    """{L: champion's time / candidate's} of one round; what is no pair of times is left out."""
    items = pairs.items() if isinstance(pairs, Mapping) else ()
    both = [(key, pair) for key, pair in items if isinstance(pair, list | tuple) and len(pair) == 2]
    champion, candidate = (per_length({key: pair[place] for key, pair in both}) for place in (0, 1))
    return divide_per_length(champion, candidate)
