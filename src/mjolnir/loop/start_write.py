"""Writing a new run down: branch, frozen state, ledger and first row, all of it or nothing."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass

from mjolnir.core.calibration import Calibration
from mjolnir.core.model import Experiment
from mjolnir.core.program_hash import program_hash
from mjolnir.errors import MjolnirError
from mjolnir.loop.budget import Attempt
from mjolnir.loop.calibrate import keep_calibration
from mjolnir.loop.guard import Candidate
from mjolnir.loop.judgement import judge_outcome
from mjolnir.loop.measure import Visit, save_documents
from mjolnir.loop.record import Findings, append_and_pin, make_row
from mjolnir.loop.start_checks import Plan
from mjolnir.loop.static_step import static_params
from mjolnir.loop.surroundings import Surroundings
from mjolnir.loop.terms import Terms, Wishes, settle_terms
from mjolnir.loop.words import Words
from mjolnir.store.fingerprint import harness_hash
from mjolnir.store.ledger import Ledger, remove_ledger, start_ledger
from mjolnir.store.run_state import RunState, remove_run_state, write_run_state
from mjolnir.targets.protocol import StaticFacts

BASELINE_TEXT = "baseline: the starting kernel"


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """A measured starting kernel, with the facts of the step before a GPU where its target has one."""

    visit: Visit
    facts: StaticFacts | None
    queue_s: float
    total_s: float


def write_run(
    plan: Plan,
    notes: tuple[str, ...],
    baseline: Baseline | None,
    calibration: Calibration | None,
    around: Surroundings,
) -> tuple[RunState, Experiment | None]:
    """The run's frozen state, its calibration beside the ledger, and its first row (None without a baseline).

    Raises Refused and EnvironmentFault with everything taken back, as far as this call had got.
    """
    git, tag = plan.git, plan.tag
    state = _state_of(plan, around)
    row = None
    with contextlib.ExitStack() as undo:
        # Before the call, since git makes the branch first and may then fail to switch to it.
        undo.callback(_quietly, lambda: git.delete_branch(plan.branch))
        git.create_branch(plan.branch, plan.base_commit)
        undo.callback(_quietly, lambda: git.switch(plan.head_branch or plan.head))
        run_hash = write_run_state(git.common_dir, state)
        undo.callback(_quietly, lambda: remove_run_state(git.common_dir, tag))
        ledger = start_ledger(git.root, git.common_dir, tag=tag, run_hash=run_hash)
        undo.callback(_quietly, lambda: remove_ledger(git.root, git.common_dir, tag=tag))
        if calibration is not None:
            keep_calibration(git.common_dir, tag, calibration)
        if baseline is not None:
            row = _append_baseline(plan, state, ledger, notes, baseline, around)
        undo.pop_all()
    return state, row


def baseline_terms(plan: Plan) -> Terms:
    """The terms of a first measurement: the configuration's own."""
    return settle_terms(plan.config, plan.target, Wishes(), rule=plan.rule)


def _quietly(step: Callable[[], None]) -> None:
    """One step that cannot be taken back must not keep the others."""
    with contextlib.suppress(MjolnirError):
        step()


def _state_of(plan: Plan, around: Surroundings) -> RunState:
    return RunState(
        tag=plan.tag,
        branch=plan.branch,
        base=plan.base,
        base_commit=plan.base_commit,
        target=plan.target,
        rule=plan.rule,
        min_gain=plan.config.min_gain(plan.target),
        kernel=plan.section.kernel,
        config=plan.config.judging_values(),
        config_hash=plan.config.judging_hash(),
        harness_hash=harness_hash(),
        created=around.timestamp(),
    )


def _append_baseline(
    plan: Plan, state: RunState, ledger: Ledger, notes: tuple[str, ...], baseline: Baseline, around: Surroundings
) -> Experiment:
    terms, visit = baseline_terms(plan), baseline.visit
    assert visit.report.outcome is not None
    judged = judge_outcome(visit.report.outcome, None, terms)
    candidate = Candidate(
        commit=plan.base_commit,
        parent=plan.git.parent(plan.base_commit),
        blob=plan.blob,
        program=program_hash(plan.blob.data),
        attempt=Attempt(measurement=1, decision=1),
        champion=None,
        since=plan.base_commit,
        notes=notes,
    )
    stages = {stage: visit.report.seconds.get(stage, 0.0) for stage in ("correctness", "sweep")}
    seconds = {"queue": baseline.queue_s, **stages, "confirm": 0.0, "total": baseline.total_s}
    found = Findings(
        candidate=candidate,
        visit=visit,
        judged=judged,
        verify_runs=save_documents(plan.git.root, visit),
        seconds={name: round(value, 3) for name, value in seconds.items()},
        static=static_params(baseline.facts),
    )
    row = make_row(state, terms, Words(hypothesis=BASELINE_TEXT), found, around.timestamp())
    return append_and_pin(plan.git, ledger, row, around)
