"""A/A: how far the cpu target's own ratios scatter when one commit is evaluated again and again."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from statistics import mean, stdev
from typing import Any

from checkout import HERE, OUR_PYTHON, Place
from child_cost import run_child
from counts import Counts
from figure import Figure

Say = Callable[[str], None]
PER_LENGTH_BOUND_PERCENT = 3.0
GEOMEAN_BOUND_PERCENT = 2.0


def measure(counts: Counts, place: Place, say: Say) -> list[Figure]:
    """`counts.visits` evaluations of the starting kernel, each in its own process with fresh workers and a new seed.

    No visit is left out: one that the tool itself would call noisy counts too, and how many those were is noted.
    """
    words = [",".join(map(str, counts.lengths or ())), str(counts.worker_pairs or "")]
    visits: list[dict[str, Any]] = []
    for number in range(1, counts.visits + 1):
        cost = run_child([OUR_PYTHON, HERE / "aa_visit.py", *words], cwd=place.folder, env=place.env)
        visits.append(json.loads(cost.out))
        say(f"A/A: evaluation {number} of {counts.visits} took {cost.wall_s:.0f} s")
    return figures(visits)


def ratios(visit: Mapping[str, Any]) -> dict[str, float]:
    """Reference time / candidate time by L."""
    return {k: visit["reference_us"][k] / visit["candidate_us"][k] for k in visit["candidate_us"]}


def geomean(values: Sequence[float]) -> float:
    return math.exp(mean(math.log(value) for value in values))


def cv_percent(values: Sequence[float]) -> float:
    """Sample standard deviation / mean, in percent."""
    return 100 * stdev(values) / mean(values)


def _cvs(visits: Sequence[Mapping[str, Any]]) -> tuple[dict[str, float], float]:
    """cv of the ratio by L, and cv of the geomean over L, in percent."""
    of_visits = [ratios(visit) for visit in visits]
    per_length = {k: cv_percent([found[k] for found in of_visits]) for k in of_visits[0]}
    return per_length, cv_percent([geomean(list(found.values())) for found in of_visits])


def figures(visits: Sequence[Mapping[str, Any]]) -> list[Figure]:
    """The two figures of measured visits."""
    per_length, of_geomean = _cvs(visits)
    steady = [visit for visit in visits if not visit["unsteady"]]
    steady_cvs = _cvs(steady) if len(steady) > 1 else None
    unsteady = [visit["unsteady"] for visit in visits if visit["unsteady"]]
    note = f"{len(visits)} evaluations, {len(unsteady)} of them noisy by the tool's own judgement"
    return [
        Figure(
            name=f"A/A, {len(visits)} evaluations: cv of the ratio, median over L",
            unit="%",
            ours=list(per_length.values()),
            bound=PER_LENGTH_BOUND_PERCENT,
            note=f"{note}; the spread is over L",
            raw={
                "cv_percent_by_length": per_length,
                "cv_percent_by_length_of_the_steady": steady_cvs and steady_cvs[0],
                "unsteady": unsteady,
                "visits": list(visits),
            },
        ),
        Figure(
            name=f"A/A, {len(visits)} evaluations: cv of the geomean",
            unit="%",
            ours=[of_geomean],
            bound=GEOMEAN_BOUND_PERCENT,
            note=note,
            raw={"cv_percent_of_the_steady": steady_cvs and steady_cvs[1]},
        ),
    ]
