"""A new run: everything is checked, the starting kernel is measured, and only then does the repository change."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from mjolnir.core.calibration import Calibration
from mjolnir.core.model import Crashed, Experiment, Measured, Outcome, Status
from mjolnir.errors import EnvironmentFault, FindingsError
from mjolnir.loop.aa_race import AaTerms, Raced, conclude, race_itself, sigma_words
from mjolnir.loop.calibrate import SHORT_RUNS
from mjolnir.loop.device import hold_device
from mjolnir.loop.guard import require_imports
from mjolnir.loop.interrupt import Interruption
from mjolnir.loop.judgement import Judged, describe_failure, judge_outcome
from mjolnir.loop.leftover import report_leftover
from mjolnir.loop.measure import Visit, visit_target
from mjolnir.loop.run_lookup import is_tool_inside
from mjolnir.loop.stage_log import in_flight
from mjolnir.loop.start_checks import Plan, StartRequest, plan_run, require_unchanged
from mjolnir.loop.start_write import BASELINE_TEXT, Baseline, baseline_terms, write_run
from mjolnir.loop.static_step import find_static_facts
from mjolnir.loop.surroundings import Surroundings
from mjolnir.store.fingerprint import harness_hash
from mjolnir.store.run_state import RunState
from mjolnir.targets.protocol import CheckRequest, KernelSource, StaticFacts, SweepRequest

MAX_TRIES = 3
"""Measurements of the baseline on a machine that is not quiet: every later verdict stands on it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """`row` is the baseline's, `calibration` the short one of `init`; None when it was not asked for."""

    state: RunState
    row: Experiment | None
    calibration: Calibration | None = None


def start_run(cwd: Path, request: StartRequest, around: Surroundings, interruption: Interruption) -> Started:
    """Make the branch, the frozen configuration and the ledger of a run, with its baseline unless it is not wanted.

    Raises UsageFault and Refused before anything ran (see start_checks.plan_run), EnvironmentFault when nothing could
    be measured (E_NOISE: this device scatters too much), FindingsError E_BASELINE when the starting kernel is wrong or
    does not run. In each case branch, ledger and state are as they were. Before the run is written down `interruption`
    is closed.
    """
    plan = plan_run(cwd, request)
    if is_tool_inside(plan.git.root):
        around.notice(
            "mjolnir is installed INSIDE this repository: whoever edits it can change its own judge. "
            "Install it outside, and work in a repository of its own (mjolnir new DIR)"
        )
    report_leftover(plan.git.root, around)
    notes = require_imports(plan.blob, plan.section.kernel, plan.target)
    facts = _static_facts(plan, around) if request.with_baseline else None
    plan.device.preflight()
    baseline, raced = _measure(plan, facts, around) if request.with_baseline else (None, None)
    calibration = conclude(raced, around, is_strict=True) if raced is not None else None
    _warn_of_noise(calibration, around)
    require_unchanged(plan)
    interruption.close()
    state, row = write_run(plan, notes, baseline, calibration, around)
    return Started(state=state, row=row, calibration=calibration)


def _static_facts(plan: Plan, around: Surroundings) -> StaticFacts | None:
    """Raises EnvironmentFault when no device answers, FindingsError when the starting kernel does not compile."""
    facts = find_static_facts(plan.device, _kernel_of(plan), plan.section.lengths, around)
    if facts is not None and facts.failure is not None:
        plan.device.preflight()
        raise _no_baseline(plan, facts.failure)
    return facts


def _measure(plan: Plan, facts: StaticFacts | None, around: Surroundings) -> tuple[Baseline, Raced | None]:
    """The baseline, and the races of the starting kernel against itself where the run is calibrated."""
    start_s = around.elapsed_s()
    with hold_device(plan.device.name, around):
        queue_s = around.elapsed_s() - start_s
        name = f"{plan.tag}-{around.now():%Y%m%dT%H%M%S}-baseline"
        flight = in_flight(plan.git.root, name=name, commit=plan.base_commit, hypothesis=BASELINE_TEXT, around=around)
        with flight as (_, observe):
            inside = replace(around, observe=observe)
            visit = _visit_until_steady(plan, inside)
            baseline = Baseline(visit=visit, facts=facts, queue_s=queue_s, total_s=around.elapsed_s() - start_s)
            return baseline, _race(plan, inside) if plan.is_calibrated else None


def _race(plan: Plan, around: Surroundings) -> Raced:
    terms = AaTerms(
        runs=SHORT_RUNS,
        target=plan.target,
        lengths=plan.section.lengths,
        min_gain=plan.config.min_gain(plan.target),
        worker_pairs=plan.section.worker_pairs,
        time_limit_s=plan.section.time_limit_s,
        harness_hash=harness_hash(),
        config_hash=plan.config.judging_hash(),
    )
    return race_itself(plan.device, _kernel_of(plan), terms, around, lambda failure: _no_baseline(plan, failure))


def _warn_of_noise(calibration: Calibration | None, around: Surroundings) -> None:
    if calibration is not None and calibration.noise.noisy_lengths:
        noise = calibration.noise
        around.notice(
            f"one kernel against itself scatters by {sigma_words(noise, noise.noisy_lengths)} here: small gains will "
            "not be told from luck (other load, clocks that change, heat?)"
        )


def _kernel_of(plan: Plan) -> KernelSource:
    return KernelSource(blob=plan.blob.data, name=plan.section.kernel, origin=plan.base_commit)


def _visit_until_steady(plan: Plan, around: Surroundings) -> Visit:
    """The first steady measurement. Raises FindingsError when the kernel is at fault, EnvironmentFault E_UNSTEADY when
    the machine stays too busy: with a baseline of such times every later experiment would look noisy."""
    why = ""
    for tries_left in reversed(range(MAX_TRIES)):
        visit = visit_target(
            plan.device,
            _kernel_of(plan),
            check=CheckRequest(),
            sweep=SweepRequest(lengths=plan.section.lengths),
            time_limit_s=plan.section.time_limit_s,
            around=around,
        )
        _require_good(plan, visit)
        why = visit.report.outcome.unsteady if isinstance(visit.report.outcome, Measured) else ""
        if not why:
            return visit
        if tries_left:
            around.notice(f"the baseline was not steady ({why}): measured again")
    raise EnvironmentFault(
        "E_UNSTEADY",
        f"the baseline was not steady in {MAX_TRIES} tries: {why}",
        "stop what else runs here (mjolnir doctor shows its load), then init again; nothing was changed",
    )


def _require_good(plan: Plan, visit: Visit) -> None:
    outcome = visit.report.outcome
    assert outcome is not None, "a visit with a sweep has an outcome"
    judged = judge_outcome(outcome, None, baseline_terms(plan))
    if judged.verdict.status in (Status.BASELINE, Status.NOISY):
        return
    raise _no_baseline(plan, outcome, judged)


def _no_baseline(plan: Plan, outcome: Outcome, judged: Judged | None = None) -> FindingsError:
    """What to say of a starting kernel that is wrong, or fails when it is raced against itself."""
    log = outcome.log.strip() if isinstance(outcome, Crashed) else ""
    judged = judged or judge_outcome(outcome, None, baseline_terms(plan))
    return FindingsError(
        "E_BASELINE",
        f"the starting kernel {plan.section.kernel} at {plan.base_commit[:12]} is no baseline: "
        f"{describe_failure(outcome) or judged.verdict.reason}",
        "mend it and commit, then init again (mjolnir verify correctness shows more); nothing was changed here",
        extra={"status": judged.verdict.status.value, "rule": judged.verdict.rule, "log": log or None},
    )
