"""A race on cpu: legs in fresh workers of their own, timed beside one another after check calls as in a visit."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from typing import Any

from mjolnir.config import TargetSection
from mjolnir.core.model import Crashed, Tampered
from mjolnir.core.workload import PagedDecode
from mjolnir.sandbox.leftovers import own_children
from mjolnir.targets.cpu_arena import arena_bytes
from mjolnir.targets.cpu_check import seconds_since
from mjolnir.targets.cpu_gate import wait_for_quiet
from mjolnir.targets.cpu_leg import Leg
from mjolnir.targets.cpu_machine import raised_priority
from mjolnir.targets.cpu_race_check import RaceCheck, check_raced
from mjolnir.targets.cpu_startup import in_any_order, start_together, stop_and_pin
from mjolnir.targets.cpu_timing import Timing, time_sets
from mjolnir.targets.cpu_turns import TurnsPlan
from mjolnir.targets.cpu_workers import REFERENCE_LABEL, LegFailure, end_leftovers, load_leg, open_leg, worker_limits
from mjolnir.targets.protocol import Entrant, Observe, Progress, RaceReport, RaceRequest

STAGE = "race"
CRASH_STAGE = "confirm"


def run_race(
    section: TargetSection,
    workload: PagedDecode,
    entrants: Sequence[Entrant],
    request: RaceRequest,
    observe: Observe,
    *,
    core: int | None,
    cores: frozenset[int],
) -> RaceReport:
    """Time `entrants` (two or more, each with a role of its own) on `core`; `cores`: all that start-up may use.

    Raises EnvironmentFault when no worker starts here, or the reference fails or is wrong; ValueError for entrants or
    sets that make no race.
    """
    if len(entrants) < 2 or len({e.role for e in entrants}) < len(entrants) or request.worker_sets < 1:
        raise ValueError("a race has two entrants or more, each with a role of its own, and one set of workers or more")
    return _Race(section, workload, entrants, request, observe, core, cores).run()


class _Race:
    def __init__(
        self,
        section: TargetSection,
        workload: PagedDecode,
        entrants: Sequence[Entrant],
        request: RaceRequest,
        observe: Observe,
        core: int | None,
        cores: frozenset[int],
    ) -> None:
        self.section = section
        self.workload = workload
        self.entrants = entrants
        self.request = request
        self.observe = observe
        self.core = core
        self.cores = cores
        self.check = RaceCheck(section, workload, request.seed)
        self.known_children = own_children()
        self.gate: dict[str, Any] = {}
        self.timing = Timing(
            labels={e.role: REFERENCE_LABEL if e.kernel is None else e.role for e in entrants},
            blocks={length: [] for length in request.lengths},
        )

    def run(self) -> RaceReport:
        start = time.monotonic()
        with contextlib.ExitStack() as stack:
            sets = self._open_sets(stack)
            everyone = tuple(leg for of_set in sets for leg in of_set)
            failure = self._start(sets, everyone) or self._measure(sets, everyone)
            own = self.known_children | {leg.worker.pid for leg in everyone}
            failure = end_leftovers(everyone, own) or failure
        return self._report(failure, seconds_since(start))

    def _open_sets(self, stack: contextlib.ExitStack) -> list[list[Leg]]:
        """For each set one leg an entrant; the processes are started in any order."""
        entrants = [e for _ in range(self.request.worker_sets) for e in self.entrants]
        legs = {i: self._open(stack, entrants[i]) for i in in_any_order(len(entrants))}
        width = len(self.entrants)
        return [[legs[i] for i in range(start, start + width)] for start in range(0, len(entrants), width)]

    def _open(self, stack: contextlib.ExitStack, entrant: Entrant) -> Leg:
        """A worker with the memory of a visit's; it may use every core until `stop_and_pin`."""
        size_bytes = arena_bytes(self.workload, self.check.cases, self.request.lengths)
        limits = worker_limits(self.section, arena_bytes=size_bytes, time_limit_s=self.request.time_limit_s)
        blob = None if entrant.kernel is None else entrant.kernel.blob
        return stack.enter_context(open_leg(entrant.role, blob, limits))

    def _start(self, sets: Sequence[Sequence[Leg]], everyone: tuple[Leg, ...]) -> LegFailure | None:
        """Load every leg, and have every kernel answer its set's check calls: its first calls, as in a visit."""
        self.observe(Progress(stage=STAGE, detail="starting workers", done=0, total=1))
        trials = {}
        for number, of_set in enumerate(sets):
            kernels = [leg for leg in of_set if not leg.is_reference]
            trials.update(dict.fromkeys(kernels, self.check.trials(number, len(kernels))))

        def start(leg: Leg) -> Crashed | Tampered | None:
            crashed = load_leg(leg, self._deadline(), stage=CRASH_STAGE)
            if crashed is not None or leg.is_reference:
                return crashed
            return check_raced(leg, trials[leg], self._deadline(), stage=CRASH_STAGE)

        for leg, finding in zip(everyone, start_together(everyone, start, self.cores), strict=True):
            if finding is not None:
                return LegFailure(role=leg.role, finding=finding)
        stop_and_pin(everyone, self.core)
        return None

    def _measure(self, sets: Sequence[Sequence[Leg]], everyone: tuple[Leg, ...]) -> LegFailure | None:
        self.observe(Progress(stage=STAGE, detail="waiting for a quiet core", done=0, total=1))
        self.gate = {"core": self.core, **wait_for_quiet(self.core, wanted=self.request.gate)}
        plan = TurnsPlan(
            workload=self.workload,
            everyone=everyone,
            iters=self.request.iters,
            deadline=self._deadline(),
            stage=CRASH_STAGE,
        )
        with raised_priority(leg.worker.pid for leg in everyone):
            time_sets(
                sets,
                self.request.lengths,
                plan,
                self.timing,
                seed=self.request.seed,
                observe=self.observe,
                stage=STAGE,
                set_word="set",
            )
        return self.timing.failure

    def _report(self, failure: LegFailure | None, seconds: float) -> RaceReport:
        self.timing.failure = failure
        by_length = self.timing.times_us()
        times_us = {role: {n: of_legs[role] for n, of_legs in by_length.items()} for role in self.timing.roles}
        return RaceReport(
            times_us=times_us if failure is None else {},
            failure=None if failure is None else failure.finding,
            failed_role="" if failure is None else failure.role,
            unsteady=self.timing.unsteady() if failure is None else "",
            notes=self.timing.notes(),
            document=self._document(times_us),
            gate=self.gate,
            seconds=seconds,
        )

    def _document(self, times_us: dict[str, dict[int, float]]) -> dict[str, Any]:
        """The race's part of a run document: raw block means, by role, L and set."""
        request = self.request
        params = {
            "lengths": list(request.lengths),
            "iters": request.iters,
            "gate": request.gate,
            "worker_sets": request.worker_sets,
            "entrants": list(self.timing.roles),
        }
        summary = {
            "times_us": {role: {str(n): us for n, us in of_role.items()} for role, of_role in times_us.items()},
            "disturbed_blocks": {str(n): count for n, count in self.timing.disturbed.items()},
        }
        return {"params": params, "series": self.timing.series(), "cases": [], "summary": summary}

    def _deadline(self) -> float:
        return time.monotonic() + self.request.time_limit_s
