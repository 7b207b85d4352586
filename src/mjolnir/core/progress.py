"""How far a run has come: facts over its rows, oldest first, for status, chart and export. Reads nothing itself."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar

from mjolnir.core.model import Experiment, RowGlance, Status
from mjolnir.core.per_length import divide_per_length, positive_number, read_per_length
from mjolnir.core.stats import geomean

AnyRow = TypeVar("AnyRow", Experiment, RowGlance)

_CHAMPIONS = (Status.BASELINE, Status.KEEP)
_LARGEST_M = 700.0
"""exp of more is no float."""
_Z_95 = 1.96
"""The normal distribution's 97.5 % quantile: what two-sided 95 % need."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step of the staircase: from row `id` on, `score` (speedup over the reference) is the champion's."""

    id: int
    score: float


def counts_by_status(rows: Iterable[Experiment | RowGlance]) -> dict[Status, int]:
    """How many rows have each status; every status is there, in the order of `Status`."""
    found = Counter(row.status for row in rows)
    return {status: found[status] for status in Status}


def kept_chain(rows: Iterable[AnyRow]) -> list[AnyRow]:
    """The lineage: the baseline and every keep, oldest first."""
    return [row for row in rows if row.status in _CHAMPIONS]


def champion(rows: Sequence[AnyRow]) -> AnyRow | None:
    """The newest row with status keep or baseline: a lineage, never the maximum of noisy scores."""
    return next((row for row in reversed(rows) if row.status in _CHAMPIONS), None)


def baseline(rows: Iterable[AnyRow]) -> AnyRow | None:
    """The row of the starting kernel."""
    return next((row for row in rows if row.status is Status.BASELINE), None)


def staircase(rows: Iterable[AnyRow]) -> list[Step]:
    """The champion's score from each keep on. A step may go down: scores are noisy, the lineage is not."""
    steps = [(row.id, positive_number(row.score)) for row in kept_chain(rows)]
    return [Step(id=row_id, score=score) for row_id, score in steps if score is not None]


def confirmed_log_gain(row: Experiment) -> float | None:
    """`confirm.m` of a row: ln of how much faster than its champion it was, both run side by side in fresh processes.
    None for a row without a confirmation that got so far."""
    m = row.confirm.get("m") if isinstance(row.confirm, Mapping) else None
    if isinstance(m, bool) or not isinstance(m, int | float):
        return None
    return float(m) if abs(m) < _LARGEST_M else None


def step_gain(row: Experiment, before: Experiment) -> float | None:
    """What `row` gained over the champion `before` it, a ratio minus 1.

    A keep of the rule `confirmed` was timed beside its champion: its gain is exp(confirm.m) - 1. Any other row: geomean
    over trusted L of the ratio of speedups, minus 1; L that were set aside in the row's run are left out. Rows that
    share no L are compared by score. None when either side has no usable numbers.
    """
    m = confirmed_log_gain(row) if row.status is Status.KEEP else None
    if m is not None:
        return math.expm1(m)
    try:
        ratios = divide_per_length(read_per_length(row.per_L, "per_L"), read_per_length(before.per_L, "per_L"))
        trusted = [x for tokens, x in ratios.items() if tokens not in row.set_aside]
        if trusted:
            return geomean(trusted) - 1
    except ValueError:
        return None
    new, old = positive_number(row.score), positive_number(before.score)
    ratio = positive_number(new / old) if new and old else None
    return None if ratio is None else ratio - 1


def step_gains(rows: Iterable[Experiment]) -> dict[int, float]:
    """{id: gain over the champion before it} of every keep whose gain is known; 0.05 is 5 % faster."""
    kept = kept_chain(rows)
    gains = {row.id: step_gain(row, before) for before, row in pairwise(kept)}
    return {row_id: gain for row_id, gain in gains.items() if gain is not None}


def confirmed_gain(rows: Iterable[Experiment]) -> float | None:
    """The product of (1 + gain) over the chain of keeps, minus 1: the run's progress. None before there is a baseline.

    Each factor was measured champion against candidate in one run, so a lucky score is not carried along as a maximum
    of scores would. Needs the rows of the chain alone.
    """
    kept = kept_chain(rows)
    return math.prod(1 + gain for gain in step_gains(kept).values()) - 1 if kept else None


def confirmed_gain_interval(rows: Iterable[Experiment]) -> tuple[float, float] | None:
    """(low, high) of `confirmed_gain`, 95 %: exp(sum of m -/+ 1.96 sqrt(sum of se^2)) - 1 over the confirmed keeps.

    The steps were measured apart, so their errors add in squares. A keep without m or se (the rule `seed`, an old
    ledger) has an error that nobody measured: one such step makes the whole interval None, never a narrower one. None
    too before the first keep. It says what timing adds, not that a keep was chosen because it looked good.
    """
    steps = [(confirmed_log_gain(row), _standard_error(row)) for row in kept_chain(rows) if row.status is Status.KEEP]
    known = [(m, se) for m, se in steps if m is not None and se is not None]
    if not known or len(known) < len(steps):
        return None
    centre = math.fsum(m for m, _ in known)
    reach = _Z_95 * math.hypot(*(se for _, se in known))
    if abs(centre) + reach >= _LARGEST_M:
        return None
    return math.expm1(centre - reach), math.expm1(centre + reach)


def _standard_error(row: Experiment) -> float | None:
    return positive_number(row.confirm.get("se")) if isinstance(row.confirm, Mapping) else None


def since_last_keep(rows: Sequence[Experiment | RowGlance]) -> int:
    """How many experiments came after the newest keep (or the baseline), whatever became of them."""
    count = 0
    for row in reversed(rows):
        if row.status in _CHAMPIONS:
            break
        count += 1
    return count


def is_plateau(rows: Sequence[Experiment | RowGlance], plateau: int) -> bool:
    """True when `plateau` or more experiments in a row brought no keep."""
    return since_last_keep(rows) >= plateau
