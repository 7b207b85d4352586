"""The cpu target: this host, one core, numba or numpy kernels, numpy/BLAS as the reference. Works on any machine.

One visit uses fresh pairs of worker processes, since much of the scatter between measurements belongs to a process.
"""

from __future__ import annotations

import contextlib
import dataclasses
import time
from collections.abc import Iterator, Sequence
from typing import Any

from mjolnir.config import Config
from mjolnir.core.case_plan import plan_cases
from mjolnir.core.cases import Case
from mjolnir.core.model import CaseResult, Crashed, Outcome, Tampered
from mjolnir.errors import EnvironmentFault, UsageFault
from mjolnir.sandbox.leftovers import become_subreaper, own_children
from mjolnir.targets.cpu_arena import arena_bytes
from mjolnir.targets.cpu_check import correctness_part, run_cases, seconds_since
from mjolnir.targets.cpu_doctor import cpu_checks, find_missing
from mjolnir.targets.cpu_gate import wait_for_quiet
from mjolnir.targets.cpu_leg import Leg
from mjolnir.targets.cpu_machine import choose_core, keep_off, raised_priority, read_fingerprint
from mjolnir.targets.cpu_race import run_race
from mjolnir.targets.cpu_startup import in_any_order, start_together, stop_and_pin, usable_cores
from mjolnir.targets.cpu_sweep import SweepRun, run_sweep
from mjolnir.targets.cpu_workers import end_leftovers, load_leg, open_leg, worker_limits
from mjolnir.targets.protocol import (
    Check,
    CheckRequest,
    Entrant,
    KernelSource,
    Observe,
    Progress,
    RaceReport,
    RaceRequest,
    SweepRequest,
    TargetReport,
    TargetRequest,
)


class CpuTarget:
    """See targets/protocol.py, Target."""

    name = "cpu"

    def __init__(self, config: Config) -> None:
        self.section = config.targets["cpu"]
        self.workload = config.workload.paged_decode()

    def preflight(self) -> None:
        self._require_memory(self.section.lengths)

    def _require_memory(self, lengths: tuple[int, ...]) -> None:
        missing = find_missing(dataclasses.replace(self.section, lengths=lengths), self.workload)
        if missing is not None:
            raise EnvironmentFault("E_TARGET", missing.found, missing.hint)

    def checks(self) -> list[Check]:
        return cpu_checks(self.section, self.workload)

    def fingerprint(self) -> dict[str, Any]:
        return read_fingerprint()

    def visit(self, kernel: KernelSource, request: TargetRequest, observe: Observe) -> TargetReport:
        wanted = request.sweep.lengths if request.sweep is not None else self.section.lengths
        self._require_memory(wanted)
        cores = usable_cores()
        core = choose_core()
        become_subreaper()
        with keep_off(core):
            return _Visit(self, kernel, request, observe, core, cores).run()

    def race(self, entrants: Sequence[Entrant], request: RaceRequest, observe: Observe) -> RaceReport:
        self._require_memory((*self.section.lengths, *request.lengths))
        cores = usable_cores()
        core = choose_core()
        become_subreaper()
        with keep_off(core):
            return run_race(self.section, self.workload, entrants, request, observe, core=core, cores=cores)


class _Visit:
    """One kernel on one set of workers."""

    def __init__(
        self,
        target: CpuTarget,
        kernel: KernelSource,
        request: TargetRequest,
        observe: Observe,
        core: int | None,
        cores: frozenset[int],
    ) -> None:
        self.section = target.section
        self.workload = target.workload
        self.kernel = kernel
        self.request = request
        self.observe = observe
        self.core = core
        self.cores = cores
        self.cases = self._plan(request.check) if request.check is not None else ()
        if request.check is not None and not self.cases:
            raise UsageFault(f"no case matches {request.check.match!r}", "mjolnir verify correctness shows all of them")
        self.known_children = own_children()
        self.worker_pids: set[int] = set()
        self.cases_done: tuple[CaseResult, ...] = ()
        self.correctness: dict[str, Any] | None = None
        self.sweep: dict[str, Any] | None = None
        self.gate: dict[str, Any] = {}
        self.seconds: dict[str, float] = {}

    def _plan(self, check: CheckRequest) -> tuple[Case, ...]:
        return plan_cases(
            self.workload,
            self.section.lengths,
            quick=check.quick,
            seed=self.request.seed,
            q_dtypes=check.q_dtypes,
            match=check.match,
        )

    def run(self) -> TargetReport:
        with contextlib.ExitStack() as stack:
            outcome = self._stages(stack)
        return TargetReport(
            outcome=outcome,
            correctness=self.correctness,
            sweep=self.sweep,
            seconds=self.seconds,
            gate=self.gate,
        )

    def _stages(self, stack: contextlib.ExitStack) -> Outcome | None:
        sweep = self.request.sweep
        candidates, references = self._open(stack, self.section.worker_pairs if sweep is not None else 1)
        failure = self._start([*candidates, *references]) or self._check(candidates) or self._leftovers(candidates)
        if failure is not None or sweep is None:
            return failure
        stop_and_pin([*candidates, *references], self.core)
        outcome = self._measure(list(zip(references, candidates, strict=True)), sweep)
        return self._leftovers(candidates) or outcome

    def _open(self, stack: contextlib.ExitStack, pairs: int) -> tuple[list[Leg], list[Leg]]:
        """Candidates, and as many references where there is a sweep; the processes are started in any order."""
        roles = ["candidate"] * pairs + (["reference"] * pairs if self.request.sweep is not None else [])
        legs = {i: stack.enter_context(self._worker(roles[i])) for i in in_any_order(len(roles))}
        everyone = [legs[i] for i in range(len(roles))]
        return everyone[:pairs], everyone[pairs:]

    @contextlib.contextmanager
    def _worker(self, role: str) -> Iterator[Leg]:
        """A worker that may use every core until `stop_and_pin`."""
        lengths = self.request.sweep.lengths if self.request.sweep is not None else ()
        limits = worker_limits(
            self.section,
            arena_bytes=arena_bytes(self.workload, self.cases, lengths),
            time_limit_s=self.request.time_limit_s,
        )
        with open_leg(role, self.kernel.blob if role == "candidate" else None, limits) as leg:
            self.worker_pids.add(leg.worker.pid)
            yield leg

    def _start(self, legs: list[Leg]) -> Crashed | Tampered | None:
        """Load all legs side by side."""
        answers = start_together(legs, lambda leg: load_leg(leg, self._deadline(), stage="import"), self.cores)
        return next((finding for finding in answers if finding is not None), None)

    def _check(self, legs: list[Leg]) -> Outcome | None:
        check = self.request.check
        if check is None:
            return None
        start = time.monotonic()
        run = run_cases(
            legs,
            self.cases,
            self.request.seed,
            fail_fast=check.fail_fast,
            deadline=self._deadline(),
            observe=self.observe,
        )
        self.seconds["correctness"] = seconds_since(start)
        self.cases_done = tuple(run.results)
        self.correctness = correctness_part(check, run.results)
        return run.outcome()

    def _measure(self, pairs: list[tuple[Leg, Leg]], request: SweepRequest) -> Outcome:
        self.observe(Progress(stage="sweep", detail="waiting for a quiet core", done=0, total=1))
        self.gate = {"core": self.core, **wait_for_quiet(self.core, wanted=request.gate)}
        start = time.monotonic()
        with raised_priority(self.worker_pids):
            run = run_sweep(
                pairs,
                self.workload,
                request,
                seed=self.request.seed,
                deadline=self._deadline(),
                observe=self.observe,
            )
        self.seconds["sweep"] = seconds_since(start)
        self.sweep = _sweep_part(request, len(pairs), run)
        return dataclasses.replace(run.outcome(), cases=self.cases_done)

    def _leftovers(self, legs: list[Leg]) -> Crashed | Tampered | None:
        """Processes that a candidate started and left: killed, and a finding."""
        failure = end_leftovers(legs, self.known_children | self.worker_pids)
        return None if failure is None else failure.finding

    def _deadline(self) -> float:
        return time.monotonic() + self.request.time_limit_s


def _sweep_part(request: SweepRequest, pairs: int, run: SweepRun) -> dict[str, Any]:
    params = {"lengths": list(request.lengths), "iters": request.iters, "gate": request.gate, "worker_pairs": pairs}
    return {"params": params, "cases": [], **run.document()}
