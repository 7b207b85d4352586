"""A double of a target: it measures nothing. It is found by name, through the entry-point group `mjolnir.targets`, when
this folder is on PYTHONPATH, so that the tests run the real command line in milliseconds.

What it answers stands in the kernel's text as module constants, and for a machine's part in a JSON file that
$MJOLNIR_SCRIPTED names:

kernel   SPEEDUP = 1.2 or {128: 1.2, 1024: 1.1}   reference time / candidate time
         OUTCOME = "measured", "incorrect", "crash" or the code of an integrity finding (E_STATE ...)
         LOG = "text"                             what the kernel printed before it crashed
         CODE = "text"                            its machine code and launches, for the target scripted_gpu
         COMPILE_ERROR = "text"                   the compiler's words: it does not compile there
machine  {"reference": {"128": 1.5}}              factors of the reference's time
         {"unsteady": "why"}                      the numbers are not to be trusted
         {"fault": "no device answers"}           preflight raises EnvironmentFault
         {"hold": {"sweep": ["a", "b"]}}          at that stage (preflight, correctness, sweep, race) write a byte to
                                                  the pipe a and wait for one from the pipe b

Races, which time kernels side by side, are in scripted_race.py.
"""

from __future__ import annotations

import ast
import json
import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from scripted_race import REFERENCE_US_PER_TOKEN, run_race

from mjolnir.config import Config
from mjolnir.core.model import CaseResult, Crashed, Incorrect, Measured, Measurement, Outcome, Sweep, Tampered
from mjolnir.errors import EnvironmentFault
from mjolnir.targets.protocol import (
    Check,
    Entrant,
    KernelSource,
    Observe,
    Progress,
    RaceReport,
    RaceRequest,
    StaticFacts,
    TargetReport,
    TargetRequest,
)

BATCH_CALLS = 40
FAMILIES = ("gauss", "temperature3", "needle", "hist", "large", "pair")


class ScriptedTarget:
    """Answers what the kernel's text and the machine's script say."""

    def __init__(self, config: Config) -> None:
        # Tests that run side by side have a device each: they must not wait for each other's lock.
        self.name = "-".join(filter(None, ("scripted", os.environ.get("PYTEST_XDIST_WORKER"))))
        self._workload = config.workload.paged_decode()

    def preflight(self) -> None:
        fault = machine().get("fault")
        _hold("preflight")
        if fault:
            raise EnvironmentFault("E_DEVICE", fault, "plug the device in")

    def checks(self) -> list[Check]:
        return [Check(name="script", ok=True, found="scripted")]

    def fingerprint(self) -> dict[str, Any]:
        return {"name": machine().get("name", "scripted device")}

    def race(self, entrants: Sequence[Entrant], request: RaceRequest, observe: Observe) -> RaceReport:
        _hold("race")
        return run_race(entrants, request, observe, world=machine(), constants=constants)

    def visit(self, kernel: KernelSource, request: TargetRequest, observe: Observe) -> TargetReport:
        try:
            script = constants(kernel.blob)
        except (SyntaxError, ValueError, UnicodeDecodeError) as e:
            return TargetReport(outcome=Crashed(stage="import", detail=f"{type(e).__name__}: {e}"))
        correctness, sweep, seconds = None, None, {}
        if request.check is not None:
            observe(Progress(stage="correctness", detail="gauss", done=0, total=len(FAMILIES)))
            _hold("correctness")
            correctness, outcome = _check(script, request)
            seconds["correctness"] = 0.25
            if outcome is not None:
                return TargetReport(outcome=outcome, correctness=correctness, seconds=seconds)
        if request.sweep is None:
            return TargetReport(outcome=None, correctness=correctness, seconds=seconds)
        observe(Progress(stage="sweep", detail="reference and kernel", done=0, total=len(request.sweep.lengths)))
        _hold("sweep")
        sweep, measured = _sweep(script, request)
        return TargetReport(
            outcome=measured,
            correctness=correctness,
            sweep=sweep,
            seconds={**seconds, "sweep": 0.5},
            gate={"asked": request.sweep.gate},
        )


class ScriptedGpuTarget(ScriptedTarget):
    """With the step that a target for a GPU has: what the compiler says, before any device is asked."""

    def static_facts(self, kernel: KernelSource, lengths: Sequence[int], observe: Observe) -> StaticFacts:
        script = constants(kernel.blob)
        if error := script.get("COMPILE_ERROR"):
            failure = Crashed(stage="compile", detail=error, log=f"{error}\n")
            return StaticFacts(arch="sm_110a", label="STATIC: does not compile", failure=failure)
        code = str(script.get("CODE", "first"))
        return StaticFacts(arch="sm_110a", code_hash=code, label=f"STATIC (no GPU): not a timing. code {code}")


def machine() -> dict[str, Any]:
    """The script of the machine, empty when there is none."""
    path = os.environ.get("MJOLNIR_SCRIPTED")
    return json.loads(Path(path).read_text()) if path and Path(path).exists() else {}


def constants(blob: bytes) -> dict[str, Any]:
    """The module constants of a kernel's text, by name."""
    found = {}
    for node in ast.parse(blob).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            try:
                found[node.targets[0].id] = ast.literal_eval(node.value)
            except ValueError:
                continue
    return found


def _hold(stage: str) -> None:
    """Meet the test at two named pipes: say that the stage is reached, wait for the test's word."""
    pipes = machine().get("hold", {}).get(stage)
    if pipes:
        reached, go = pipes
        with open(reached, "wb") as pipe:
            pipe.write(b"x")
        with open(go, "rb") as pipe:
            pipe.read(1)


def _check(script: dict[str, Any], request: TargetRequest) -> tuple[dict[str, Any], Outcome | None]:
    assert request.check is not None
    outcome = script.get("OUTCOME", "measured")
    cases = tuple(
        CaseResult(family=f, case="L=128", passed=outcome != "incorrect" or f != "needle", error=0.5, limit=0.01)
        for f in FAMILIES
        if request.check.match in f
    )
    part = {
        "params": {"quick": request.check.quick, "q_dtypes": list(request.check.q_dtypes), "seed": request.seed},
        "series": [],
        "cases": [asdict(c) for c in cases],
        "summary": {"passed": all(c.passed for c in cases)},
    }
    return part, _outcome(outcome, script, cases)


def _outcome(outcome: str, script: dict[str, Any], cases: tuple[CaseResult, ...]) -> Outcome | None:
    if outcome == "crash":
        return Crashed(stage="correctness", detail="RuntimeError: boom", log=script.get("LOG", "boom\n"), cases=cases)
    if outcome.startswith("E_"):
        return Tampered(code=outcome, detail="the answer depends on hidden state", cases=cases)
    failures = tuple(c for c in cases if not c.passed)
    return Incorrect(failures=failures, cases=cases) if failures else None


def _sweep(script: dict[str, Any], request: TargetRequest) -> tuple[dict[str, Any], Measured]:
    assert request.sweep is not None
    speedup, world = script.get("SPEEDUP", 1.0), machine()
    measurements = []
    for tokens in request.sweep.lengths:
        reference_us = REFERENCE_US_PER_TOKEN * tokens * world.get("reference", {}).get(str(tokens), 1.0)
        ratio = speedup.get(tokens, 1.0) if isinstance(speedup, dict) else speedup
        measurements.append(
            Measurement(length_tokens=tokens, reference_us=reference_us, candidate_us=reference_us / ratio)
        )
    series = [
        {"id": role, "label": role, "role": role, "points": [_point(m, role) for m in measurements]}
        for role in ("reference", "candidate")
    ]
    part = {
        "params": {
            "lengths": list(request.sweep.lengths),
            "iters": request.sweep.iters,
            "gate": request.sweep.gate,
        },
        "series": series,
        "cases": [],
        "summary": {"score": measurements[0].speedup},
    }
    return part, Measured(sweep=Sweep(measurements=tuple(measurements)), unsteady=world.get("unsteady", ""))


def _point(m: Measurement, role: str) -> dict[str, Any]:
    time_us = m.reference_us if role == "reference" else m.candidate_us
    return {"L": m.length_tokens, "total_us": time_us, "blocks": [[{"mean_us": time_us, "calls": BATCH_CALLS}]]}
