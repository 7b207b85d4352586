"""One experiment under the device lock: measure, judge, confirm, and write the row."""

from __future__ import annotations

from dataclasses import dataclass, replace

from mjolnir.core.calibration import Calibration, as_fact, hash_fact, no_op_sentence
from mjolnir.core.confirm import SE_FLOOR
from mjolnir.core.model import Crashed, Experiment, Measured, Outcome
from mjolnir.core.rule_names import CONFIRMED
from mjolnir.loop.budget import MAX_MEASUREMENTS
from mjolnir.loop.confirmation import Confirmation, Plan, run_confirmation
from mjolnir.loop.confirmed_row import confirm_document, confirmation_keys, confirmed
from mjolnir.loop.guard import Candidate
from mjolnir.loop.interrupt import Interruption
from mjolnir.loop.judgement import Judged, judge_outcome
from mjolnir.loop.ledger_kernel import kernel_of_row
from mjolnir.loop.measure import Visit, failed_visit, save_documents, save_part, visit_target
from mjolnir.loop.record import Findings, append_and_pin, make_row, pin_row
from mjolnir.loop.rule_params import confirm_params
from mjolnir.loop.run_lookup import OpenRun
from mjolnir.loop.stage_log import StageLog, in_flight
from mjolnir.loop.static_step import static_params
from mjolnir.loop.surroundings import Surroundings
from mjolnir.loop.terms import Terms
from mjolnir.loop.words import Words
from mjolnir.store.beside import append_fact, read_facts
from mjolnir.targets.protocol import CheckRequest, KernelSource, Observe, StaticFacts, SweepRequest, Target

BEGUN = "begun"
"""Facts beside the ledger: confirmations that began."""


def kernel_of(run: OpenRun, candidate: Candidate) -> KernelSource:
    """The text that is measured: the commit's, never the work tree's."""
    return KernelSource(blob=candidate.blob.data, name=run.state.kernel, origin=candidate.commit)


@dataclass(frozen=True, slots=True, kw_only=True)
class Experimenter:
    """What one measurement needs. `is_default`: no option asked for anything but the frozen configuration;
    `calibration`: of this very device, None where there is none; `facts`: of the step before a GPU, None on cpu."""

    run: OpenRun
    target: Target
    candidate: Candidate
    terms: Terms
    words: Words
    is_default: bool
    calibration: Calibration | None
    facts: StaticFacts | None
    around: Surroundings
    interruption: Interruption

    def run_it(self, *, start_s: float, queue_s: float) -> tuple[Experiment, str | None]:
        """The row as it was written, and the path of a log that was kept inside the repository.

        Raises EnvironmentFault and Refused without a row. Before the row is written `interruption` is closed.
        """
        commit, words = self.candidate.commit, self.words
        name = f"{self.run.state.tag}-{self.around.now():%Y%m%dT%H%M%S}-{commit[:12]}"
        with in_flight(
            self.run.git.root, name=name, commit=commit, hypothesis=words.hypothesis, around=self.around
        ) as (log, observe):
            found, kept_log = self._find(log, observe, start_s, queue_s)
            row = make_row(self.run.state, self.terms, words, found, self.around.timestamp())
            self.interruption.close()
            return self._record(row), kept_log

    def _find(self, log: StageLog, observe: Observe, start_s: float, queue_s: float) -> tuple[Findings, str | None]:
        visit = self._visit(observe)
        outcome = visit.report.outcome
        assert outcome is not None, "a visit with a sweep has an outcome"
        screened = judge_outcome(outcome, self.candidate.champion, self.terms)
        looks = self._begin_confirmation() if screened.is_pending else 0
        confirmation = self._confirm(observe, looks) if screened.is_pending else None
        kept_log = _keep_log(outcome, confirmation, log)
        found = Findings(
            candidate=self.candidate,
            visit=visit,
            judged=screened if confirmation is None else self._confirmed(screened, confirmation),
            verify_runs=self._save(visit, confirmation),
            seconds=self._seconds(visit, confirmation, start_s, queue_s),
            notes=(*self._notes(outcome, confirmation, kept_log), *self._tell_of_looks(looks)),
            keys=confirmation_keys(screened, confirmation),
            static=static_params(self.facts),
            confirm=self._confirm_params(looks),
        )
        return found, kept_log

    def _kernel(self) -> KernelSource:
        return kernel_of(self.run, self.candidate)

    def _visit(self, observe: Observe) -> Visit:
        if self.facts is not None and self.facts.failure is not None:
            return failed_visit(self.target, self._kernel(), self.facts.failure)
        sweep = SweepRequest(lengths=self.terms.lengths, iters=self.terms.iters, gate=self.terms.gate)
        return visit_target(
            self.target,
            self._kernel(),
            check=CheckRequest(),
            sweep=sweep,
            time_limit_s=self.run.section.time_limit_s,
            around=replace(self.around, observe=observe),
            is_default=self.is_default,
        )

    def _begin_confirmation(self) -> int:
        """Write down that a confirmation begins; how many of this program began before and left no row.

        Whoever can end an evaluation, or keep its row from being written, could look at a confirmation and try again.
        """
        program, git = self.candidate.program, self.run.git
        begun = read_facts(git.common_dir, self.run.state.tag, BEGUN, self.around.notice)
        looks = len([fact for fact in begun if fact.get("program_hash") == program])
        rows = [g.id for g in self.run.ledger.glances() if g.program_hash == program] if looks else []
        told = len([row for row in map(self.run.ledger.row, rows) if row is not None and row.confirm is not None])
        fact = {"program_hash": program, "commit": self.candidate.commit, "utc": self.around.timestamp()}
        append_fact(git.common_dir, self.run.state.tag, BEGUN, fact)
        return max(0, looks - told)

    def _attempt(self, looks: int) -> int:
        """A look that left no row makes the next one a second attempt: t has to be larger then."""
        return MAX_MEASUREMENTS if looks else self.candidate.attempt.decision

    def _confirm(self, observe: Observe, looks: int) -> Confirmation:
        champion = self._champion()
        plan = Plan(
            champion=kernel_of_row(self.run, champion, "the champion"),
            candidate=self._kernel(),
            terms=self.terms,
            attempt=self._attempt(looks),
            se_floor=self._se_floor(),
            worker_sets=self.run.section.worker_pairs,
            time_limit_s=self.run.section.time_limit_s,
            champion_name=f"the champion #{champion.id}",
        )
        return run_confirmation(self.target, plan, replace(self.around, observe=observe))

    def _champion(self) -> Experiment:
        assert self.candidate.champion is not None, "without a champion nothing is screened"
        return self.candidate.champion

    def _se_floor(self) -> float:
        return self.calibration.se_floor if self.calibration is not None else SE_FLOOR

    def _confirmed(self, screened: Judged, confirmation: Confirmation) -> Judged:
        passes = no_op_sentence(self.calibration, self.terms.rule) if self.calibration is not None else ""
        return confirmed(screened, confirmation, self._champion(), self.terms, no_op_text=passes)

    def _confirm_params(self, looks: int) -> dict[str, object] | None:
        if self.terms.rule != CONFIRMED:
            return None
        found = self.calibration
        return confirm_params(
            se_floor=self._se_floor(),
            attempt=self._attempt(looks),
            unrecorded=looks,
            calibration=None
            if found is None
            else {
                "id": found.id,
                "hash": hash_fact(as_fact(found)),
                "no_op_rate": found.no_op_rate(self.terms.rule).as_json(),
                "runs": found.runs,
            },
        )

    def _save(self, visit: Visit, confirmation: Confirmation | None) -> dict[str, str | None]:
        saved = save_documents(self.run.git.root, visit)
        if confirmation is None:
            return saved
        return saved | {"confirm": save_part(self.run.git.root, visit, "confirm", confirm_document(confirmation))}

    def _seconds(
        self, visit: Visit, confirmation: Confirmation | None, start_s: float, queue_s: float
    ) -> dict[str, float]:
        stages = {stage: visit.report.seconds.get(stage, 0.0) for stage in ("correctness", "sweep")}
        confirm_s = confirmation.seconds if confirmation is not None else 0.0
        seconds = {"queue": queue_s, **stages, "confirm": confirm_s, "total": self.around.elapsed_s() - start_s}
        return {name: round(value, 3) for name, value in seconds.items()}

    def _notes(self, outcome: Outcome, confirmation: Confirmation | None, log: str | None) -> tuple[str, ...]:
        notes = [] if self.terms.gate else ["measured without the gate (--no-gate)"]
        notes += outcome.notes if isinstance(outcome, Measured) else ()
        notes += confirmation.notes if confirmation is not None else ()
        return (*notes, f"log: {log}") if log is not None else tuple(notes)

    def _tell_of_looks(self, looks: int) -> tuple[str, ...]:
        notes = []
        if looks:
            notes.append(f"{looks} earlier confirmation(s) of this program left no row: judged as a second attempt")
        if self.candidate.attempt.measurement > MAX_MEASUREMENTS:
            notes.append(f"measurement {self.candidate.attempt.measurement} of this program")
        return tuple(notes)

    def _record(self, row: Experiment) -> Experiment:
        git, ledger = self.run.git, self.run.ledger
        for last in ledger.tail(1):
            # Its process may have died between the row and its ref.
            pin_row(git, last, self.around)
        return append_and_pin(git, ledger, row, self.around)


def _keep_log(outcome: Outcome, confirmation: Confirmation | None, log: StageLog) -> str | None:
    """Leave the log of a crash on disk; its path inside the repository."""
    failure = outcome if confirmation is None else confirmation.failure
    if not isinstance(failure, Crashed):
        return None
    log.keep(f"{failure.stage} failed: {failure.detail}\n{failure.log}")
    return log.name
