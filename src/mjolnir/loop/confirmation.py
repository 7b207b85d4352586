"""The confirmation run: champion and candidate timed side by side in fresh workers, round after round, until
`core.confirm.decide` has seen enough. On a keep the candidate is timed beside the reference once more.

Nothing of a confirmation outlives its process: one that is killed leaves no row, and the commit is evaluated anew.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from mjolnir.core.confirm import Decision, decide
from mjolnir.core.model import Crashed, Status, Tampered
from mjolnir.core.stats import geomean
from mjolnir.errors import EnvironmentFault
from mjolnir.loop.measure import SEED_BITS
from mjolnir.loop.surroundings import Surroundings
from mjolnir.loop.terms import Terms
from mjolnir.targets.protocol import Entrant, KernelSource, Progress, RaceReport, RaceRequest, Target

CHAMPION, CANDIDATE, REFERENCE = "champion", "candidate", "reference"
MAX_TRIES = 2
"""Measurements of one round on a machine that is not quiet. The second one that was disturbed ends the confirmation."""
Pairs = dict[int, tuple[float, float]]
"""{L: (champion's time, candidate's time)} in microseconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is confirmed: `champion` and `candidate` from their blobs, under `terms`. `attempt` 1, or 2 for a program
    that was decided before; `se_floor` the least standard error on this device (log scale); `worker_sets`: how many
    sets of workers time the reference on a keep; `champion_name` for messages."""

    champion: KernelSource
    candidate: KernelSource
    terms: Terms
    attempt: int
    se_floor: float
    worker_sets: int
    time_limit_s: float
    champion_name: str = "the champion"


@dataclass(slots=True, kw_only=True)
class Confirmation:
    """What came of it: `decision` of the rounds, or a `failure` of the candidate, or `unsteady`: why it was not
    trusted. `reference_us` {L: the reference's time at the rounds' level}, on a keep alone."""

    attempt: int
    se_floor: float
    rounds: list[Pairs] = field(default_factory=list)
    decision: Decision | None = None
    reference_us: dict[int, float] | None = None
    failure: Crashed | Tampered | None = None
    unsteady: str = ""
    notes: list[str] = field(default_factory=list)
    races: list[dict[str, Any]] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def has_bad_numbers(self) -> bool:
        """True when a time of some race is not finite and positive: nothing can be decided on such."""
        return self.decision is not None and self.decision.status is Status.INVALID

    def candidate_us(self) -> dict[int, float]:
        """{L: geomean of the rounds' candidate times}."""
        return {n: geomean(pairs[n][1] for pairs in self.rounds) for n in self.rounds[0]}

    def relative(self) -> dict[int, float]:
        """{L: geomean over the rounds of champion's time / candidate's time}."""
        return {n: geomean(pairs[n][0] / pairs[n][1] for pairs in self.rounds) for n in self.rounds[0]}


def run_confirmation(target: Target, plan: Plan, around: Surroundings) -> Confirmation:
    """Round after round until it is decided. Raises EnvironmentFault (E_CHAMPION: the champion does not run any more).

    The candidate may fail in here as in any measurement; that is an outcome and not an error.
    """
    start_s = around.elapsed_s()
    found = Confirmation(attempt=plan.attempt, se_floor=plan.se_floor)
    _Job(target, plan, around, found).run()
    found.seconds = around.elapsed_s() - start_s
    return found


@dataclass(frozen=True, slots=True)
class _Job:
    target: Target
    plan: Plan
    around: Surroundings
    found: Confirmation

    def run(self) -> None:
        found, champion = self.found, Entrant(role=CHAMPION, kernel=self.plan.champion)
        candidate = Entrant(role=CANDIDATE, kernel=self.plan.candidate)
        while found.decision is None or found.decision.more:
            number = len(found.rounds) + 1
            order = (champion, candidate) if number % 2 else (candidate, champion)
            report = self._race(order, f"round {number}", sets=1)
            if report is None:
                return
            champion_us, candidate_us = report.times_us[CHAMPION], report.times_us[CANDIDATE]
            pairs = {n: (champion_us.get(n, 0.0), candidate_us.get(n, 0.0)) for n in self.plan.terms.lengths}
            found.rounds.append(pairs)
            found.decision = decide(
                found.rounds, min_gain=self.plan.terms.min_gain, attempt=self.plan.attempt, se_floor=self.plan.se_floor
            )
        if found.decision.status is Status.KEEP:
            self._time_reference(candidate)

    def _time_reference(self, candidate: Entrant) -> None:
        """The score of the new champion, from data that did not choose it: reference and candidate in fresh workers.

        Their ratio, times the rounds' candidate time, is the reference's time at the rounds' level: what the machine
        drifted between the rounds and this pass would else enter the score.
        """
        reference = Entrant(role=REFERENCE)
        report = self._race((reference, candidate), "the reference", sets=self.plan.worker_sets)
        if report is not None:
            times, level = report.times_us, self.found.candidate_us()
            pairs = {n: (times[REFERENCE].get(n), times[CANDIDATE].get(n)) for n in level}
            readable = decide([pairs])
            if readable.status is Status.INVALID:
                self.found.decision = readable
                return
            self.found.reference_us = {n: level[n] * times[REFERENCE][n] / times[CANDIDATE][n] for n in level}

    def _race(self, entrants: Sequence[Entrant], name: str, *, sets: int) -> RaceReport | None:
        """A steady race; None (and why, in `found`) where there is none to be had."""
        for tries_left in reversed(range(MAX_TRIES)):
            report = self._race_once(entrants, name, sets)
            if report.failure is not None and report.failed_role == CHAMPION:
                raise self._champion_fault(report.failure)
            if report.failure is not None:
                self.found.failure = report.failure
                return None
            if not report.unsteady:
                return report
            if tries_left:
                self.found.notes.append(f"confirmation, {name}: {report.unsteady}; measured again")
        self.found.unsteady = f"confirmation, {name}: {report.unsteady}"
        return None

    def _race_once(self, entrants: Sequence[Entrant], name: str, sets: int) -> RaceReport:
        terms = self.plan.terms
        request = RaceRequest(
            seed=secrets.randbits(SEED_BITS),
            lengths=terms.lengths,
            worker_sets=sets,
            iters=terms.iters,
            gate=terms.gate,
            time_limit_s=self.plan.time_limit_s,
        )

        def observe(step: Progress) -> None:
            self.around.observe(replace(step, stage="confirm", detail=f"{name}: {step.detail}"))

        report = self.target.race(entrants, request, observe)
        self.found.notes += report.notes
        part = {"name": name, "seed": request.seed, "order": [e.role for e in entrants], "unsteady": report.unsteady}
        self.found.races.append({**part, "gate": report.gate, "document": report.document})
        return report

    def _champion_fault(self, failure: Crashed | Tampered) -> EnvironmentFault:
        what = failure.code if isinstance(failure, Tampered) else "it crashed"
        base = self.plan.champion.origin[:12]
        return EnvironmentFault(
            "E_CHAMPION",
            f"{self.plan.champion_name} fails when it is timed beside the candidate: {what}: {failure.detail[:300]}",
            f"evaluate again; if it stays so, start a new run from a sound commit before {base}: "
            "mjolnir autoresearch init TAG --base COMMIT",
        )
