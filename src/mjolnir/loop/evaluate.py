"""One experiment: refuse, or check, measure, judge and record."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

from mjolnir.core.calibration import Calibration, as_fact
from mjolnir.core.model import Experiment, Status
from mjolnir.core.rule_names import CONFIRMED
from mjolnir.errors import MjolnirError, Refused
from mjolnir.loop.advice import Next, advise
from mjolnir.loop.calibrate import newest_calibration, require_fitting
from mjolnir.loop.device import hold_device
from mjolnir.loop.experiment import Experimenter, kernel_of
from mjolnir.loop.guard import Candidate, guard
from mjolnir.loop.interrupt import Interruption
from mjolnir.loop.leftover import report_leftover
from mjolnir.loop.memory import memory_lines, similar_experiments
from mjolnir.loop.plateau import tell_plateau
from mjolnir.loop.rule_params import usual_iters
from mjolnir.loop.run_lookup import OpenRun, open_run
from mjolnir.loop.static_step import find_static_facts, require_new_code
from mjolnir.loop.surroundings import Surroundings
from mjolnir.loop.terms import Terms, Wishes, settle_terms
from mjolnir.loop.words import Words
from mjolnir.store.foreign_text import one_line
from mjolnir.targets.protocol import Target, load_target

FAILED = (Status.DISCARD, Status.CRASH, Status.INVALID)


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What the caller of `evaluate` said. `again`: the second and last measurement of a discarded program; `apply`:
    after a failed experiment the branch goes back to the champion."""

    words: Words
    wishes: Wishes = field(default_factory=Wishes)
    again: bool = False
    apply: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """What came of it. `log`: the path of the crash log inside the repository, or None; `plateau`: a sentence where the
    last experiments gained nothing beyond noise, else empty."""

    row: Experiment
    champion: Experiment | None
    next: Next
    run: OpenRun
    log: str | None = None
    plateau: str = ""


def evaluate(cwd: Path, request: Request, around: Surroundings, interruption: Interruption) -> Evaluation:
    """Evaluate HEAD of the run that is checked out around `cwd`.

    Raises Refused before anything ran (see guard.guard), UsageFault, EnvironmentFault when nothing was measured; in
    each case without a row. Before the row is written `interruption` is closed: from then on a signal ends nothing.
    """
    run = open_run(cwd, around.notice)
    settle_terms(run.config, run.state.target, request.wishes)
    report_leftover(run.git.root, around)
    early = guard(run, again=request.again)
    target = load_target(run.state.target, run.config)
    facts = find_static_facts(target, kernel_of(run, early), run.section.lengths, around)
    target.preflight()  # without a device there is no row, whatever the facts say
    start_s = around.elapsed_s()
    with hold_device(target.name, around):
        queue_s = around.elapsed_s() - start_s
        # Another evaluation may have changed the ledger meanwhile, and a person the repository.
        run = open_run(cwd, around.notice)
        candidate = guard(run, again=request.again, is_thorough=True)
        if candidate.blob != early.blob:
            facts = find_static_facts(target, kernel_of(run, candidate), run.section.lengths, around)
        require_new_code(facts, run.ledger, candidate.program)
        experimenter = Experimenter(
            run=run,
            target=target,
            candidate=candidate,
            terms=_settle(run, candidate, request.wishes),
            words=request.words,
            is_default=request.wishes == Wishes(),
            calibration=_calibration(run, target, around),
            facts=facts,
            around=around,
            interruption=interruption,
        )
        _tell_of_like_ideas(run, request.words, around)
        row, log = experimenter.run_it(start_s=start_s, queue_s=queue_s)
        plateau = _plateau(run, experimenter.calibration, around)
        return replace(_conclude(run, candidate, request, around, row, log), plateau=plateau)


def _settle(run: OpenRun, candidate: Candidate, wishes: Wishes) -> Terms:
    champion = candidate.champion
    terms = settle_terms(run.config, run.state.target, wishes, rule=run.state.rule, usual_iters=usual_iters(champion))
    if champion is None and terms.lengths != terms.required:
        raise Refused(
            "E_CONFIG", "the first measurement of a run needs every length: it is the baseline", "leave --ls out"
        )
    return terms


def _calibration(run: OpenRun, target: Target, around: Surroundings) -> Calibration | None:
    """The run's calibration, when its rule wants one. Raises Refused E_CALIBRATION for one that is not of here."""
    if run.state.rule != CONFIRMED:
        return None
    found = newest_calibration(run.git.common_dir, run.state.tag, around.notice)
    if found is None:
        _require_no_calibration_lost(run)
    if found is not None:
        require_fitting(found, device=target.fingerprint(), config_hash=run.state.config_hash, target=run.state.target)
    return found


def _require_no_calibration_lost(run: OpenRun) -> None:
    """Without its calibration a run would judge by a lower floor. Raises Refused E_CALIBRATION."""
    for last in run.ledger.tail(1):
        known = (last.params or {}).get("calibration")
        if isinstance(known, dict):
            what = f"the calibration {one_line(str(known.get('id')), 40)} that #{last.id} was judged with is gone"
            raise Refused("E_CALIBRATION", what, "mjolnir autoresearch calibrate")


def _tell_of_like_ideas(run: OpenRun, words: Words, around: Surroundings) -> None:
    """What was tried before that reads like this, before minutes are spent on it."""
    for line in memory_lines(similar_experiments(run.git.root, run.state.tag, words.hypothesis, around.notice)):
        around.notice(line)


def _plateau(run: OpenRun, calibration: Calibration | None, around: Surroundings) -> str:
    """A word on a plateau; the row is written, so nothing here may fail the evaluation any more."""
    try:
        fact = as_fact(calibration) if calibration is not None else None
        return tell_plateau(run.ledger, run.state, calibration=fact)
    except MjolnirError as e:
        around.notice(f"{e.message}; {e.hint}")
        return ""


def _conclude(
    run: OpenRun, candidate: Candidate, request: Request, around: Surroundings, row: Experiment, log: str | None
) -> Evaluation:
    is_applied = request.apply and row.status in FAILED and _go_back(run, candidate.since, around)
    others = [path for path in _dirty_paths(run) if path != run.state.kernel]
    following = advise(row, champion_commit=candidate.since, has_other_changes=bool(others), is_applied=is_applied)
    return Evaluation(row=row, champion=candidate.champion, next=following, run=run, log=log)


def _go_back(run: OpenRun, commit: str, around: Surroundings) -> bool:
    try:
        run.git.reset_keep(commit)
    except MjolnirError as e:
        around.notice(f"the branch stays where it is: {e.message}; {e.hint}")
        return False
    return True


def _dirty_paths(run: OpenRun) -> tuple[str, ...]:
    """Edited tracked files; all is unknown when git cannot say, and then the careful command is advised."""
    try:
        return run.git.dirty_paths()
    except MjolnirError:
        return ("?",)
