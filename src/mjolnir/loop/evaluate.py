"""One experiment: refuse, or check, measure, judge and record."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

from mjolnir.core.model import Crashed, Experiment, Measured, Status
from mjolnir.errors import MjolnirError, Refused
from mjolnir.loop.advice import Next, advise
from mjolnir.loop.guard import Candidate, guard
from mjolnir.loop.interrupt import Interruption
from mjolnir.loop.judgement import judge_outcome
from mjolnir.loop.leftover import report_leftover
from mjolnir.loop.measure import Visit, save_documents, visit_target
from mjolnir.loop.record import Findings, append_and_pin, make_row, pin_row, usual_iters
from mjolnir.loop.run_lookup import OpenRun, open_run
from mjolnir.loop.stage_log import StageLog, in_flight
from mjolnir.loop.surroundings import Surroundings
from mjolnir.loop.terms import Terms, Wishes, settle_terms
from mjolnir.loop.words import Words
from mjolnir.store.device_lock import device_lock
from mjolnir.targets.protocol import CheckRequest, KernelSource, Observe, SweepRequest, Target, load_target

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
    """What came of it. `log`: the path of the crash log inside the repository, or None."""

    row: Experiment
    champion: Experiment | None
    next: Next
    run: OpenRun
    log: str | None = None


def evaluate(cwd: Path, request: Request, around: Surroundings, interruption: Interruption) -> Evaluation:
    """Evaluate HEAD of the run that is checked out around `cwd`.

    Raises Refused before anything ran (see guard.guard), UsageFault, EnvironmentFault when nothing was measured; in
    each case without a row. Before the row is written `interruption` is closed: from then on a signal ends nothing.
    """
    run = open_run(cwd, around.notice)
    settle_terms(run.config, run.state.target, request.wishes)
    report_leftover(run.git.root, around)
    guard(run, again=request.again)
    target = load_target(run.state.target, run.config)
    target.preflight()
    start_s = around.elapsed_s()
    with device_lock(target.name, lambda pid: around.notice(_queue_text(target.name, pid))):
        queue_s = around.elapsed_s() - start_s
        # Another evaluation may have changed the ledger meanwhile, and a person the repository.
        run = open_run(cwd, around.notice)
        candidate = guard(run, again=request.again, is_thorough=True)
        terms = _settle(run, candidate, request.wishes)
        job = _Job(run, target, candidate, terms, request, around, interruption)
        return job.run_it(start_s=start_s, queue_s=queue_s)


def _queue_text(device: str, pid: int | None) -> str:
    holder = f"process {pid}" if pid is not None else "another process"
    return f"{holder} is measuring on {device}: waiting for it (Ctrl-C gives up)"


def _settle(run: OpenRun, candidate: Candidate, wishes: Wishes) -> Terms:
    champion = candidate.champion
    terms = settle_terms(run.config, run.state.target, wishes, usual_iters=usual_iters(champion))
    if champion is None and terms.lengths != terms.required:
        raise Refused(
            "E_CONFIG", "the first measurement of a run needs every length: it is the baseline", "leave --ls out"
        )
    return terms


@dataclass(frozen=True, slots=True)
class _Job:
    """One measurement under the device lock."""

    run: OpenRun
    target: Target
    candidate: Candidate
    terms: Terms
    request: Request
    around: Surroundings
    interruption: Interruption

    def run_it(self, *, start_s: float, queue_s: float) -> Evaluation:
        commit, words = self.candidate.commit, self.request.words
        name = f"{self.run.state.tag}-{self.around.now():%Y%m%dT%H%M%S}-{commit[:12]}"
        with in_flight(
            self.run.git.root, name=name, commit=commit, hypothesis=words.hypothesis, around=self.around
        ) as (log, observe):
            visit = self._visit(observe)
            outcome = visit.report.outcome
            assert outcome is not None, "a visit with a sweep has an outcome"
            kept_log = _keep_log(outcome, log)
            found = Findings(
                candidate=self.candidate,
                visit=visit,
                judged=judge_outcome(outcome, self.candidate.champion, self.terms),
                verify_runs=save_documents(self.run.git.root, visit),
                seconds=self._seconds(visit, start_s, queue_s),
                notes=self._notes(outcome, kept_log),
            )
            row = make_row(self.run.state, self.terms, words, found, self.around.timestamp())
            self.interruption.close()
            written = self._record(row)
        return self._conclude(written, kept_log)

    def _visit(self, observe: Observe) -> Visit:
        kernel = KernelSource(blob=self.candidate.blob.data, name=self.run.state.kernel, origin=self.candidate.commit)
        sweep = SweepRequest(lengths=self.terms.lengths, iters=self.terms.iters, gate=self.terms.gate)
        is_default = self.request.wishes == Wishes()
        return visit_target(
            self.target,
            kernel,
            check=CheckRequest(),
            sweep=sweep,
            time_limit_s=self.run.section.time_limit_s,
            around=replace(self.around, observe=observe),
            is_default=is_default,
        )

    def _seconds(self, visit: Visit, start_s: float, queue_s: float) -> dict[str, float]:
        stages = {stage: visit.report.seconds.get(stage, 0.0) for stage in ("correctness", "sweep")}
        seconds = {"queue": queue_s, **stages, "total": self.around.elapsed_s() - start_s}
        return {name: round(value, 3) for name, value in seconds.items()}

    def _notes(self, outcome: object, log: str | None) -> tuple[str, ...]:
        notes = [] if self.terms.gate else ["measured without the gate (--no-gate)"]
        notes += outcome.notes if isinstance(outcome, Measured) else ()
        return (*notes, f"log: {log}") if log is not None else tuple(notes)

    def _record(self, row: Experiment) -> Experiment:
        git, ledger = self.run.git, self.run.ledger
        for last in ledger.tail(1):
            # Its process may have died between the row and its ref.
            pin_row(git, last, self.around)
        return append_and_pin(git, ledger, row, self.around)

    def _conclude(self, row: Experiment, log: str | None) -> Evaluation:
        since = self.candidate.since
        is_applied = self.request.apply and row.status in FAILED and self._go_back(since)
        others = [path for path in self._dirty_paths() if path != self.run.state.kernel]
        following = advise(row, champion_commit=since, has_other_changes=bool(others), is_applied=is_applied)
        return Evaluation(row=row, champion=self.candidate.champion, next=following, run=self.run, log=log)

    def _go_back(self, commit: str) -> bool:
        try:
            self.run.git.reset_keep(commit)
        except MjolnirError as e:
            self.around.notice(f"the branch stays where it is: {e.message}; {e.hint}")
            return False
        return True

    def _dirty_paths(self) -> tuple[str, ...]:
        """Edited tracked files; all is unknown when git cannot say, and then the careful command is advised."""
        try:
            return self.run.git.dirty_paths()
        except MjolnirError:
            return ("?",)


def _keep_log(outcome: object, log: StageLog) -> str | None:
    """Leave the log of a crash on disk; its path inside the repository."""
    if not isinstance(outcome, Crashed):
        return None
    log.keep(f"{outcome.stage} failed: {outcome.detail}\n{outcome.log}")
    return log.name
