"""The rounds of a recheck: one race each, every kernel in fresh workers, another one first in each round."""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from mjolnir.core.model import Crashed, Tampered
from mjolnir.errors import EnvironmentFault
from mjolnir.loop.measure import SEED_BITS
from mjolnir.targets.protocol import Entrant, Progress, RaceReport, RaceRequest, Target

REFERENCE, BASELINE, CHAMPION = "reference", "baseline", "champion"
MAX_TRIES = 2
"""Measurements of a round on a machine that is not quiet. The second one counts, with a note."""
STAGE = "recheck"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """`lengths` in tokens; `time_limit_s` bounds each race."""

    target: Target
    entrants: tuple[Entrant, ...]
    rounds: int
    lengths: tuple[int, ...]
    time_limit_s: float


@dataclass(slots=True, kw_only=True)
class Rounds:
    """`times_us`: a round's {role: {L: time of one call in microseconds}}, in measuring order; `races`: every race with
    its seed, order and document, also the ones that were measured again; `unsteady`: the rounds that stayed so."""

    times_us: list[dict[str, dict[int, float]]] = field(default_factory=list)
    races: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    unsteady: list[str] = field(default_factory=list)


def measure_rounds(plan: Plan, observe: Callable[[Progress], None]) -> Rounds:
    """Every round. Raises EnvironmentFault, E_CHAMPION where a kernel of the ledger fails here."""
    found = Rounds()
    for number in range(1, plan.rounds + 1):
        report = _steady_race(plan, number, found, observe)
        roles = [entrant.role for entrant in plan.entrants]
        found.times_us.append({role: _times(report, role, plan) for role in roles})
    return found


def _steady_race(plan: Plan, number: int, found: Rounds, observe: Callable[[Progress], None]) -> RaceReport:
    for tries_left in reversed(range(MAX_TRIES)):
        report = _race(plan, number, found, observe)
        if not report.unsteady:
            return report
        if tries_left:
            found.notes.append(f"round {number}: {report.unsteady}; measured again")
    found.unsteady.append(f"round {number}: {report.unsteady}")
    return report


def _race(plan: Plan, number: int, found: Rounds, observe: Callable[[Progress], None]) -> RaceReport:
    shift = (number - 1) % len(plan.entrants)
    entrants = (*plan.entrants[shift:], *plan.entrants[:shift])
    request = RaceRequest(
        seed=secrets.randbits(SEED_BITS), lengths=plan.lengths, worker_sets=1, time_limit_s=plan.time_limit_s
    )

    def step_of(detail: str) -> Progress:
        return Progress(stage=STAGE, detail=detail, done=number - 1, total=plan.rounds)

    name = f"round {number} of {plan.rounds}"
    observe(step_of(name))
    report = plan.target.race(entrants, request, lambda step: observe(step_of(f"{name}: {step.detail}")))
    if report.failure is not None:
        raise _failed(report.failed_role, report.failure)
    found.notes += [f"round {number}: {note}" for note in report.notes]
    part = {"name": f"round {number}", "seed": request.seed, "order": [entrant.role for entrant in entrants]}
    found.races.append({**part, "unsteady": report.unsteady, "gate": report.gate, "document": report.document})
    return report


def _failed(role: str, failure: Crashed | Tampered) -> EnvironmentFault:
    what = f"it breaks the rules ({failure.code})" if isinstance(failure, Tampered) else "it crashed"
    return EnvironmentFault(
        "E_CHAMPION",
        f"the {role} fails when it is measured anew: {what}: {failure.detail[:300]}",
        "run it again; if it stays so: mjolnir doctor, then mjolnir autoresearch ledger for the row",
    )


def _times(report: RaceReport, role: str, plan: Plan) -> dict[int, float]:
    """A role's times at every L. Raises EnvironmentFault for a target that owes one."""
    times_us = report.times_us.get(role, {})
    for tokens in plan.lengths:
        time_us = times_us.get(tokens, 0.0)
        if not (math.isfinite(time_us) and time_us > 0):
            raise EnvironmentFault(
                "E_TARGET", f"the target {plan.target.name} gave no time of the {role} at L={tokens}", "mjolnir doctor"
            )
    return {tokens: times_us[tokens] for tokens in plan.lengths}
