"""The target `interpreter`: a Triton kernel checked on this host's CPU, without a GPU. Never timed, never scored.

Triton's interpreter runs the unmodified host code and kernels (worker/exact_interpreter.py corrects its arithmetic) in
the same confined workers, on the same inputs and against the same oracle as on cpu. It sees no race, no barrier and
nothing of the compiler: a pass is necessary and not sufficient.
"""

from __future__ import annotations

import contextlib
import dataclasses
import queue
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from mjolnir.config import Config
from mjolnir.core.cases import Case
from mjolnir.core.interpreter_plan import plan_interpreter_cases
from mjolnir.core.kernel_ast import takes_keyword
from mjolnir.core.model import CaseResult, Crashed, Outcome, Tampered
from mjolnir.core.triton_versions import TESTED_VERSIONS, untested_sentence
from mjolnir.errors import EnvironmentFault, UsageFault
from mjolnir.oracle.trial import make_trial
from mjolnir.process import kill_group
from mjolnir.sandbox.leftovers import become_subreaper, own_children
from mjolnir.sandbox.process import start_worker
from mjolnir.targets.cpu_arena import arena_bytes
from mjolnir.targets.cpu_check import CheckRun, check_case, correctness_part, seconds_since
from mjolnir.targets.cpu_machine import read_fingerprint, tool_version
from mjolnir.targets.cpu_startup import usable_cores
from mjolnir.targets.cpu_workers import end_leftovers, load_leg, worker_limits
from mjolnir.targets.interpreter_leg import InterpreterLeg, far_step
from mjolnir.targets.protocol import (
    Check,
    CheckRequest,
    Entrant,
    KernelSource,
    Observe,
    Progress,
    RaceReport,
    RaceRequest,
    TargetReport,
    TargetRequest,
)

CAUTION = "interpreter: necessary, not sufficient (no race, no barrier, no compiler is seen here)"
MOST_WORKERS = 4
"""Each holds torch and Triton, about 400 MiB."""
_INSTALL = "pip install 'mjolnir-autoresearch[gpu]'"


class InterpreterTarget:
    """See targets/protocol.py, Target."""

    name = "interpreter"

    def __init__(self, config: Config) -> None:
        self.section = config.section("interpreter")
        self.workload = config.workload.paged_decode()

    def preflight(self) -> None:
        missing = next((check for check in self.checks() if not check.ok), None)
        if missing is not None:
            raise EnvironmentFault("E_TARGET", missing.found, missing.hint)

    def checks(self) -> list[Check]:
        found = {name: tool_version(name) for name in ("torch", "triton")}
        absent = [name for name, version in found.items() if version is None]
        if absent:
            return [Check(name="gpu packages", ok=False, found=f"{' and '.join(absent)} not installed", hint=_INSTALL)]
        versions = ", ".join(f"{name} {version}" for name, version in found.items())
        untested = untested_sentence(str(found["triton"]))
        return [
            Check(name="gpu packages", ok=True, found=versions),
            Check(
                name="interpreter",
                ok=not untested,
                found=untested or CAUTION,
                hint=f"pip install triton=={TESTED_VERSIONS[-1]}" if untested else "",
            ),
        ]

    def fingerprint(self) -> dict[str, Any]:
        return read_fingerprint() | {name: tool_version(name) for name in ("torch", "triton")}

    def visit(self, kernel: KernelSource, request: TargetRequest, observe: Observe) -> TargetReport:
        if request.sweep is not None or request.check is None:
            raise _never_timed()
        become_subreaper()
        return _Visit(self, kernel, request, request.check, observe).run()

    def race(self, entrants: Sequence[Entrant], request: RaceRequest, observe: Observe) -> RaceReport:
        raise _never_timed()


def _never_timed() -> UsageFault:
    return UsageFault(
        "the interpreter only checks: its time says nothing about a GPU",
        "mjolnir verify correctness --target interpreter",
    )


class _Visit:
    """One kernel on as many workers as there are cores; each takes the next case when it has done one."""

    def __init__(
        self,
        target: InterpreterTarget,
        kernel: KernelSource,
        request: TargetRequest,
        check: CheckRequest,
        observe: Observe,
    ) -> None:
        self.section = target.section
        self.kernel = kernel
        self.request = request
        self.check = check
        self.observe = observe
        self.cases = plan_interpreter_cases(
            target.workload, quick=check.quick, seed=request.seed, q_dtypes=check.q_dtypes, match=check.match
        )
        if not self.cases:
            raise UsageFault(f"no case matches {check.match!r}", "mjolnir verify correctness shows all of them")
        self.workload = target.workload
        self.deadline = time.monotonic() + request.time_limit_s
        self.offers_lse = takes_keyword(kernel.blob, "lse")
        self.results: dict[int, CaseResult] = {}
        self.failures: dict[int, Crashed | Tampered] = {}
        self.is_over = threading.Event()
        self.lock = threading.Lock()

    def run(self) -> TargetReport:
        start = time.monotonic()
        known = own_children()
        count = min(MOST_WORKERS, len(self.cases), max(1, len(usable_cores())))
        with contextlib.ExitStack() as stack:
            legs = [stack.enter_context(self._open()) for _ in range(count)]
            outcome = self._load(legs) or self._check(legs)
            left = end_leftovers(legs, known | {leg.worker.pid for leg in legs})
        outcome = outcome if left is None else left.finding
        return TargetReport(
            outcome=outcome,
            correctness=self._document() if self.results else None,
            seconds={"correctness": seconds_since(start)},
        )

    @contextlib.contextmanager
    def _open(self) -> Iterator[InterpreterLeg]:
        limits = worker_limits(self.section, arena_bytes=self._arena_bytes(), time_limit_s=self.request.time_limit_s)
        with start_worker(limits, kernel=self.kernel.blob, leg="triton_interpreter") as worker:
            leg = InterpreterLeg(worker, offers_lse=self.offers_lse)
            try:
                yield leg
            finally:
                leg.release()

    def _arena_bytes(self) -> int:
        spread = [
            dataclasses.replace(case, spare_pages=case.num_pages * _step_of(case) - case.used_pages)
            for case in self.cases
        ]
        return arena_bytes(self.workload, spread, ())

    def _load(self, legs: Sequence[InterpreterLeg]) -> Outcome | None:
        with ThreadPoolExecutor(len(legs)) as pool:
            answers = list(pool.map(lambda leg: load_leg(leg, self.deadline, stage="import"), legs))
        return next((answer for answer in answers if answer is not None), None)

    def _check(self, legs: Sequence[InterpreterLeg]) -> Outcome | None:
        waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
        for index in range(len(self.cases)):
            waiting.put(index)
        with ThreadPoolExecutor(len(legs)) as pool:
            try:
                for done in [pool.submit(self._work, leg, waiting) for leg in legs]:
                    done.result()
            except BaseException:  # Ctrl-C too: nobody waits for a case that is under way
                self.is_over.set()
                for leg in legs:
                    kill_group(leg.worker.pid)
                raise
        run = CheckRun()
        for index in sorted(self.results):
            run.take(self.results[index], self.failures.get(index))
        self.observe(Progress(stage="correctness", detail="done", done=len(self.cases), total=len(self.cases)))
        return run.outcome()

    def _work(self, leg: InterpreterLeg, waiting: queue.SimpleQueue[int]) -> None:
        while not self.is_over.is_set():
            try:
                index = waiting.get_nowait()
            except queue.Empty:
                return
            case = self.cases[index]
            leg.page_step = _step_of(case)
            self._take(index, *check_case(leg, make_trial(case, self.request.seed), self.deadline))

    def _take(self, index: int, result: CaseResult, failure: Crashed | Tampered | None) -> None:
        with self.lock:
            self.results[index] = result
            if failure is not None:
                self.failures[index] = failure
            is_dead = isinstance(failure, Crashed) and failure.stage == "worker"
            if is_dead or (not result.passed and self.check.fail_fast):
                self.is_over.set()
            self.observe(
                Progress(stage="correctness", detail=result.case, done=len(self.results), total=len(self.cases))
            )

    def _document(self) -> dict[str, Any]:
        part = correctness_part(self.check, [self.results[index] for index in sorted(self.results)])
        return part | {"summary": part["summary"] | {"note": CAUTION}}


def _step_of(case: Case) -> int:
    if not case.has_far_pages:
        return 1
    w = case.workload
    return far_step(case.num_pages * 2 * w.num_kv_heads * w.page_size * w.head_dim)
