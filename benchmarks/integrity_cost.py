"""What the integrity protocol costs: the time of an evaluation's visit with it over the time of the same code without.

bare_visit.py says what is switched off. The two take turns, so that a slow spell of the machine hits both.
"""

from __future__ import annotations

import json
from collections.abc import Callable

from checkout import HERE, OUR_PYTHON, Place
from child_cost import run_child
from counts import Counts
from figure import Figure

Say = Callable[[str], None]
BOUND = 1.25


def measure(counts: Counts, place: Place, say: Say) -> list[Figure]:
    """`counts.evaluations` pairs of visits, of which the first alternates."""
    terms = [",".join(map(str, counts.lengths or ())), str(counts.worker_pairs or "")]
    ratios: list[float] = []
    pairs = []
    for number in range(counts.evaluations):
        kinds = ("full", "bare") if number % 2 == 0 else ("bare", "full")
        found = {}
        for kind in kinds:
            cost = run_child([OUR_PYTHON, HERE / "bare_visit.py", kind, *terms], cwd=place.folder, env=place.env)
            found[kind] = json.loads(cost.out)
        ratios.append(found["full"]["total_s"] / found["bare"]["total_s"])
        pairs.append(found)
        say(f"integrity: {found['full']['total_s']:.1f} s with it, {found['bare']['total_s']:.1f} s without")
    note = "a visit as `evaluate` makes it for a discard, over the same code with the protocol switched off"
    return [
        Figure(
            name="integrity protocol: time of a discard with it / without",
            unit="",
            ours=ratios,
            bound=BOUND,
            note=note,
            raw={"pairs": pairs},
        )
    ]
