"""Correctness on cpu: every case of the plan in the buffers of a confined worker, against the float64 oracle."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mjolnir.core.cases import Case
from mjolnir.core.model import CaseResult, Crashed, Incorrect, Tampered
from mjolnir.oracle.change import apply_change
from mjolnir.oracle.check import CheckResult, check_output
from mjolnir.oracle.trial import Call, Trial, make_trial
from mjolnir.sandbox.process import Reply, ReplyKind
from mjolnir.targets.cpu_leg import Leg
from mjolnir.targets.protocol import CheckRequest, Observe, Progress
from mjolnir.targets.worker_words import describe_failure

Out = NDArray[np.uint16]
Failure = Incorrect | Crashed | Tampered
MakeTrial = Callable[[Case, int], Trial]


@dataclass(slots=True)
class CheckRun:
    """What a check has found so far. `failure` is the first finding that decides the outcome."""

    results: list[CaseResult] = field(default_factory=list)
    failure: Crashed | Tampered | None = None

    def take(self, result: CaseResult, failure: Crashed | Tampered | None) -> bool:
        """Add what one case found; True when its worker is dead."""
        self.results.append(result)
        is_dead = isinstance(failure, Crashed) and failure.stage == "worker"
        if failure is not None and (self.failure is None or isinstance(failure, Tampered)):
            self.failure = replace(failure, stage="correctness") if isinstance(failure, Crashed) else failure
        return is_dead

    def outcome(self) -> Failure | None:
        """None when every required case passed."""
        cases = tuple(self.results)
        if self.failure is not None:
            return replace(self.failure, cases=cases)
        failures = tuple(r for r in cases if not r.passed)
        return Incorrect(failures=failures, cases=cases) if failures else None


def run_cases(
    legs: Sequence[Leg],
    cases: Sequence[Case],
    seed: int,
    *,
    fail_fast: bool,
    deadline: float,
    observe: Observe,
    make: MakeTrial = make_trial,
) -> CheckRun:
    """Check `cases` in turn, each on the next of `legs`, so that every worker has compiled before it is timed.

    `make`: the trial of a case and a seed, for this caller to change.
    """
    run = CheckRun()
    for index, case in enumerate(cases):
        observe(Progress(stage="correctness", detail=case.name, done=index, total=len(cases)))
        result, failure = check_case(legs[index % len(legs)], make(case, seed), deadline)
        if run.take(result, failure) or (not result.passed and fail_fast):
            break
    observe(Progress(stage="correctness", detail="done", done=len(cases), total=len(cases)))
    return run


def check_case(leg: Leg, trial: Trial, deadline: float) -> tuple[CaseResult, Crashed | Tampered | None]:
    """All calls of one trial on one leg: the result, and what ends the check (of the stage "worker": it died)."""
    return _CaseRun(leg, trial, deadline).run()


class _CaseRun:
    """The calls of one trial on one leg."""

    def __init__(self, leg: Leg, trial: Trial, deadline: float) -> None:
        self.leg = leg
        self.trial = trial
        self.case = trial.case
        self.deadline = deadline
        self.worst: CheckResult | None = None
        self.earlier: list[NDArray[np.float64]] = []

    def run(self) -> tuple[CaseResult, Crashed | Tampered | None]:
        reply = self.leg.put(self.trial.inputs, self.deadline)
        if reply.kind != ReplyKind.DONE:
            return self._not_done(reply)
        for call in self.trial.calls:
            self._prepare(call)
            reply = self.leg.call(self.deadline)
            if reply.kind != ReplyKind.DONE:
                return self._not_done(reply)
            found = self._examine(np.frombuffer(reply.out, np.uint16).reshape(call.expected.shape), call)
            if found is not None:
                return found
        return self._result(passed=True), None

    def _prepare(self, call: Call) -> None:
        """Contents change in the same buffers; out is filled with the harness's NaN.

        After a double call the next change finds out as it was: doing nothing must not pass for the older answer.
        """
        if call.change is not None:
            apply_change(self.trial.inputs.kv_cache, call.change)
            self.leg.write("kv_cache", self.trial.inputs.kv_cache)
        if call.is_refilled and not (call.change is not None and self.case.double_call):
            self.leg.poison_out()

    def _examine(self, out: Out, call: Call) -> tuple[CaseResult, Crashed | Tampered | None] | None:
        """None: the answer is right and nothing else was touched."""
        check = check_output(out, call.expected, self.case)
        if self.worst is None or not check.passed or (check.error or 0) > (self.worst.error or 0):
            self.worst = check
        if not check.passed:
            return self._wrong(check, out)
        if fault := self.leg.further_fault(self.trial):
            return self._result(passed=False, detail=fault), None
        changed = self.leg.first_changed(self.trial.inputs)
        if changed is not None:
            return self._tampered("E_MUTATES", f"{self.case.name}: decode changed its input {changed}")
        self.earlier.append(call.expected)
        return None

    def _wrong(self, check: CheckResult, out: Out) -> tuple[CaseResult, Crashed | Tampered | None]:
        if check.unwritten:
            return self._tampered("E_UNWRITTEN", f"{self.case.name}: {check.detail}")
        if any(check_output(out, old, self.case).passed for old in self.earlier):
            return self._tampered(
                "E_STATE", f"{self.case.name}: the answer is that of an earlier call with other contents"
            )
        return self._result(passed=False, detail=check.detail), None

    def _not_done(self, reply: Reply) -> tuple[CaseResult, Crashed | Tampered | None]:
        if reply.kind == ReplyKind.UNSUPPORTED:
            detail = f"unsupported: {describe_failure(reply)}"
            return self._result(passed=not self.case.required, unsupported=True, detail=detail), None
        detail = f"{self.case.name}: {describe_failure(reply)}"
        if reply.kind == ReplyKind.CONTRACT:
            return self._tampered("E_CONTRACT", detail)
        stage = "worker" if reply.kind >= ReplyKind.GONE else "correctness"
        log = "\n".join(part for part in (reply.text, self.leg.worker.log) if part)
        return self._result(passed=False, detail=detail), Crashed(stage=stage, detail=detail, log=log)

    def _tampered(self, code: str, detail: str) -> tuple[CaseResult, Tampered]:
        return self._result(passed=False, detail=f"{code}: {detail}"), Tampered(code=code, detail=detail)

    def _result(self, *, passed: bool, unsupported: bool = False, detail: str = "") -> CaseResult:
        return CaseResult(
            family=self.case.family,
            case=self.case.name,
            passed=passed,
            unsupported=unsupported,
            required=self.case.required,
            error=None if self.worst is None else self.worst.error,
            limit=self.case.limit if self.worst is None else self.worst.limit,
            detail=detail,
        )


def seconds_since(start: float) -> float:
    """Elapsed wall time, rounded to a millisecond."""
    return round(time.monotonic() - start, 3)


def correctness_part(check: CheckRequest, results: Sequence[CaseResult]) -> dict[str, Any]:
    """The stage's part of a run document."""
    passed = all(r.passed for r in results)
    return {
        "params": {"quick": check.quick, "q_dtypes": list(check.q_dtypes), "match": check.match},
        "series": [],
        "cases": [asdict(r) for r in results],
        "summary": {"passed": passed, "cases": len(results), "failed": sum(not r.passed for r in results)},
    }
