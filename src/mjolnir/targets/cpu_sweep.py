"""The sweep of a visit: (reference, candidate) pairs of workers timed at every L, as an outcome and a document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mjolnir.core.model import Crashed, Measured, Measurement, Sweep, Tampered
from mjolnir.core.stats import geomean
from mjolnir.core.workload import PagedDecode
from mjolnir.targets.cpu_leg import Leg
from mjolnir.targets.cpu_timing import Timing, time_sets
from mjolnir.targets.cpu_turns import TurnsPlan
from mjolnir.targets.cpu_workers import REFERENCE_LABEL
from mjolnir.targets.protocol import Observe, SweepRequest

STAGE = "sweep"


@dataclass(frozen=True, slots=True)
class SweepRun:
    """What a sweep has measured."""

    timing: Timing

    def outcome(self) -> Measured | Crashed | Tampered:
        if self.timing.failure is not None:
            return self.timing.failure.finding
        return Measured(
            sweep=Sweep(measurements=self._measurements()), unsteady=self.timing.unsteady(), notes=self.timing.notes()
        )

    def _measurements(self) -> tuple[Measurement, ...]:
        return tuple(
            Measurement(length_tokens=length, reference_us=of_legs["reference"], candidate_us=of_legs["candidate"])
            for length, of_legs in self.timing.times_us().items()
        )

    def document(self) -> dict[str, Any]:
        """The sweep's part of a run document: raw block means, by L and pair."""
        per_length = {str(m.length_tokens): m.speedup for m in self._measurements()}
        score = geomean(per_length.values()) if per_length else None
        summary = {"score": score, "per_L": per_length, "disturbed_blocks": self.timing.disturbed}
        return {"series": self.timing.series(), "summary": summary}


def run_sweep(
    pairs: Sequence[tuple[Leg, Leg]],
    workload: PagedDecode,
    request: SweepRequest,
    *,
    seed: int,
    deadline: float,
    observe: Observe,
) -> SweepRun:
    """Time (reference, candidate) pairs at every L. Raises EnvironmentFault when the reference is wrong."""
    timing = Timing(
        labels={"reference": REFERENCE_LABEL, "candidate": "kernel"},
        blocks={length: [] for length in request.lengths},
    )
    everyone = tuple(leg for pair in pairs for leg in pair)
    plan = TurnsPlan(workload=workload, everyone=everyone, iters=request.iters, deadline=deadline, stage=STAGE)
    time_sets(pairs, request.lengths, plan, timing, seed=seed, observe=observe, stage=STAGE, set_word="pair")
    return SweepRun(timing)
