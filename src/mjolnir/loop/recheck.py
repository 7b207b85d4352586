"""The headline measured anew: reference, baseline and champion timed side by side, round after round, in fresh workers.

What comes out stands beside the ledger and never in it: the claim of the ledger is not overwritten by its own check.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mjolnir.core.progress import baseline
from mjolnir.errors import Refused, UsageFault
from mjolnir.loop.device import hold_device
from mjolnir.loop.guard import require_no_replacements, require_sound_ledger
from mjolnir.loop.interrupt import Interruption
from mjolnir.loop.kept_rows import read_kept
from mjolnir.loop.ledger_kernel import kernel_of_row
from mjolnir.loop.leftover import report_leftover
from mjolnir.loop.newest_fact import RECHECKS
from mjolnir.loop.recheck_answer import Rows, make_answer, make_document
from mjolnir.loop.recheck_rounds import BASELINE, CHAMPION, REFERENCE, Plan, Rounds, measure_rounds
from mjolnir.loop.run_lookup import OpenRun, open_run
from mjolnir.loop.stage_log import in_flight
from mjolnir.loop.surroundings import Surroundings
from mjolnir.store.beside import append_fact
from mjolnir.store.fingerprint import harness_hash
from mjolnir.store.ledger_files import live_ledger
from mjolnir.store.runs import write_document
from mjolnir.targets.protocol import Entrant, Target, load_target

ROUNDS = 6
LEAST_ROUNDS, MOST_ROUNDS = 2, 100
STAGE = "recheck"


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What is measured: the rows of the run and their kernels' bytes."""

    run: OpenRun
    rows: Rows
    entrants: tuple[Entrant, ...]


def recheck(cwd: Path, rounds: int, around: Surroundings, interruption: Interruption) -> dict[str, Any]:
    """Measure the run around `cwd` anew and record it: a run document, and a fact in rechecks.jsonl. Returns the fact.

    Raises UsageFault, Refused (open_run's; E_LEDGER: no baseline, an unsound ledger, a kernel that is not its row's;
    E_LINEAGE: a commit is gone; E_GIT_REPLACE), EnvironmentFault (E_CHAMPION: champion or baseline fail here), in each
    case with nothing recorded. Before anything is written `interruption` is closed.
    """
    if not LEAST_ROUNDS <= rounds <= MOST_ROUNDS:
        raise UsageFault(f"--runs {rounds} makes no sense", f"from {LEAST_ROUNDS} to {MOST_ROUNDS} rounds")
    run = open_run(cwd, around.notice)
    report_leftover(run.git.root, around)
    _read_job(run)
    target = load_target(run.state.target, run.config)
    target.preflight()
    with hold_device(target.name, around):
        # Another evaluation may have changed the ledger meanwhile, and a person the repository.
        job = _read_job(open_run(cwd, around.notice))
        return _measure_and_record(job, target, rounds, around, interruption)


def _measure_and_record(
    job: Job, target: Target, rounds: int, around: Surroundings, interruption: Interruption
) -> dict[str, Any]:
    run, champion = job.run, job.rows.champion
    commit, start_s = champion.commit_full or "", around.elapsed_s()
    name = f"{run.state.tag}-{STAGE}-{around.now():%Y%m%dT%H%M%S}"
    said = f"recheck of #{champion.id} in {rounds} rounds"
    plan = Plan(
        target=target,
        entrants=job.entrants,
        rounds=rounds,
        lengths=run.section.lengths,
        time_limit_s=run.section.time_limit_s,
    )
    with in_flight(run.git.root, name=name, commit=commit, hypothesis=said, around=around) as (_, observe):
        found = measure_rounds(plan, observe)
        _note_other_harness(run, found)
        device, seconds = target.fingerprint(), around.elapsed_s() - start_s
        answer = make_answer(run.state, job.rows, found, device=device, ts=around.timestamp(), seconds=seconds)
        interruption.close()
        # The document first: a fact never names a document that is not there.
        answer["id"] = write_document(run.git.root, STAGE, make_document(run.state, answer, found))
        append_fact(run.git.common_dir, run.state.tag, RECHECKS, answer)
    return answer


def _note_other_harness(run: OpenRun, found: Rounds) -> None:
    if harness_hash() != run.state.harness_hash:
        found.notes.append("measured by another mjolnir than the one that began the run")


def _read_job(run: OpenRun) -> Job:
    """Rows and kernels. Raises Refused."""
    require_no_replacements(run.git)
    require_sound_ledger(run, is_thorough=False)
    kept = [row for row, _ in read_kept(live_ledger(run.git.root), run.ledger.glances())]
    first = baseline(kept)
    if first is None:
        raise Refused(
            "E_LEDGER",
            f"the run {run.state.tag} has no baseline yet: there is nothing to measure anew",
            'mjolnir autoresearch evaluate -m "the starting kernel"',
        )
    rows = Rows(kept=tuple(kept), baseline=first, champion=kept[-1])
    entrants = [Entrant(role=REFERENCE)]
    if rows.champion is not first:
        entrants.append(Entrant(role=BASELINE, kernel=kernel_of_row(run, first, "the baseline")))
    entrants.append(Entrant(role=CHAMPION, kernel=kernel_of_row(run, rows.champion, "the champion")))
    return Job(run=run, rows=rows, entrants=tuple(entrants))
