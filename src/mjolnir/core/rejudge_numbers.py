"""The numbers of a row against one another: times, speedups, score, and the ratios to the champion's."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from mjolnir.core.lengths import length_label, parse_length
from mjolnir.core.model import Experiment
from mjolnir.core.per_length import positive_number
from mjolnir.core.stats import geomean

Numbers = Mapping[str, Any]
"""What `judge` and `screen` read of a row: score, correctness, per_L, fi_us; keys of L are integers."""
LOOSE = 1e-6
"""Relative: a ledger's numbers carry at least 6 significant digits."""
_TINY = 1e-12
_tokens = lru_cache(maxsize=4096)(parse_length)


def by_tokens(values: Any) -> Any:
    """`values` with integer keys: reading "16384" anew for every use is most of the cost of judging a row again.

    What is no mapping of lengths, or has two forms of one L, comes back as it is: the rule has its own word for it.
    """
    try:
        found = {_tokens(key): value for key, value in values.items()}
    except (AttributeError, TypeError, ValueError):
        return values
    return found if len(found) == len(values) else values


def screening_numbers(row: Experiment) -> Numbers:
    """The ordinary run's numbers: a confirmed keep has them under `screen`, since its own are the confirmation's."""
    shown: Mapping[str, Any] | None = row.screen if isinstance(row.screen, dict) and row.screen.get("per_L") else None
    per_length = by_tokens(shown["per_L"] if shown is not None else row.per_L)
    score = _score(per_length) if shown is not None else row.score
    reference_us = shown.get("fi_us") if shown is not None else row.fi_us
    return {
        "score": score,
        "correctness": row.correctness,
        "per_L": per_length,
        "fi_us": by_tokens(reference_us),
        "mj_us": by_tokens(shown.get("mj_us") if shown is not None else row.mj_us),
    }


def champion_numbers(champion: Experiment | None) -> Numbers | None:
    """The champion's row as the rules read it."""
    if champion is None:
        return None
    return {"score": champion.score, "per_L": by_tokens(champion.per_L), "fi_us": by_tokens(champion.fi_us)}


def close(a: object, b: object, relative: float) -> bool:
    """Two stored numbers, or two that are not there."""
    if a is None or b is None:
        return a is b
    if isinstance(a, bool) or isinstance(b, bool) or not isinstance(a, int | float) or not isinstance(b, int | float):
        return False
    return a == b or math.isclose(a, b, rel_tol=relative, abs_tol=_TINY)


def close_by_length(a: Any, b: Any, relative: float) -> bool:
    """Two mappings of L with the same L and close numbers."""
    if a == b:
        return True
    one, other = by_tokens(a or {}), by_tokens(b or {})
    return one.keys() == other.keys() and all(close(value, other[key], relative) for key, value in one.items())


def recheck_numbers(row: Experiment) -> Iterator[str]:
    """per_L = reference time / candidate time, score = geomean(per_L)."""
    if row.score is None:
        return
    yield from recheck_speedups("", row.per_L, row.fi_us, row.mj_us)
    if not close(row.score, _score(by_tokens(row.per_L)), LOOSE):
        yield f"has the score {row.score:g}, which is not the geomean of its per_L"


def recheck_speedups(name: str, per_length: Any, reference_us: Any, candidate_us: Any) -> Iterator[str]:
    """`name` says whose numbers these are ("" for the row's own)."""
    speedups, reference, candidate = (by_tokens(x or {}) for x in (per_length, reference_us, candidate_us))
    if not speedups.keys() == reference.keys() == candidate.keys():
        yield f"has {name}per_L, fi_us and mj_us of different lengths"
        return
    for tokens, speedup in speedups.items():
        exact = reference[tokens] / candidate[tokens]
        if exact != speedup and not close(speedup, exact, LOOSE):
            yield f"has a {name}per_L at {length_label(tokens)} that is not fi_us / mj_us"


def recheck_relative(row: Experiment, best: Numbers | None, *, is_due: bool) -> Iterator[str]:
    """vs_best = per_L / the champion's per_L. `is_due` False: it may also be empty."""
    told = by_tokens(row.vs_best)
    before = by_tokens(best["per_L"] or {}) if best is not None else {}
    new = by_tokens(row.per_L)
    if not told and not is_due:
        return
    if told.keys() != new.keys() & before.keys():
        yield "has a vs_best of other lengths than it and its champion share"
        return
    for tokens, ratio in told.items():
        exact = new[tokens] / before[tokens]
        if exact != ratio and not close(ratio, exact, LOOSE):
            yield f"has a vs_best at {length_label(tokens)} that is not per_L / the champion's per_L"


def _score(per_length: Mapping[Any, Any]) -> float | None:
    """geomean(per_L); None where one of them has no logarithm."""
    numbers = [positive_number(x) for x in per_length.values()]
    known = [x for x in numbers if x is not None]
    return geomean(known) if known and len(known) == len(numbers) else None
