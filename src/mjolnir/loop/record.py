"""From a verdict to a row: every key of docs/ledger.md, appended, pinned, and nothing lost on the way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mjolnir.core.model import Experiment
from mjolnir.errors import MjolnirError
from mjolnir.loop.guard import Candidate
from mjolnir.loop.judgement import Judged
from mjolnir.loop.measure import Visit
from mjolnir.loop.rule_params import batch_calls, rule_params
from mjolnir.loop.surroundings import Surroundings
from mjolnir.loop.terms import Terms
from mjolnir.loop.words import Words
from mjolnir.store.git import Git
from mjolnir.store.ledger import Ledger
from mjolnir.store.run_state import RunState

SHORT_COMMIT = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """What an evaluation found, ready to be written down. `seconds`: queue, correctness, sweep, confirm, total;
    `keys`: the row's screen, ab and confirm; `confirm`: see rule_params.confirm_params; `static`: see
    static_step.static_params."""

    candidate: Candidate
    visit: Visit
    judged: Judged
    verify_runs: dict[str, str | None]
    seconds: dict[str, float]
    notes: tuple[str, ...] = ()
    keys: Mapping[str, Any] = field(default_factory=dict)
    confirm: Mapping[str, Any] | None = None
    static: Mapping[str, Any] = field(default_factory=dict)


def make_row(state: RunState, terms: Terms, words: Words, found: Findings, ts: str) -> Experiment:
    """The row without what the ledger adds: id, prev and hash."""
    candidate, judged, verdict = found.candidate, found.judged, found.judged.verdict
    return Experiment(
        id=0,
        ts=ts,
        branch=state.branch,
        commit=candidate.commit[:SHORT_COMMIT],
        status=verdict.status,
        reason=verdict.reason,
        score=judged.score,
        min_gain=terms.min_gain,
        correctness=judged.correctness,
        per_L=judged.per_length,
        fi_us=judged.reference_us,
        mj_us=judged.candidate_us,
        agent=words.agent,
        hypothesis=words.hypothesis,
        sources=list(words.sources),
        verify_runs=found.verify_runs,
        vs_best={str(tokens): ratio for tokens, ratio in sorted(verdict.relative.items())},
        run=state.tag,
        target=state.target,
        device=found.visit.device,
        commit_full=candidate.commit,
        parent_full=candidate.parent,
        kernel_blob=candidate.blob.sha,
        program_hash=candidate.program,
        **_champion_keys(candidate.champion),
        rule=verdict.rule,
        params=_params(terms, found),
        judge={"status": judged.seed.status.value, "reason": judged.seed.reason},
        **found.keys,
        set_aside=list(verdict.set_aside),
        attempt=candidate.attempt.measurement,
        harness_hash=state.harness_hash,
        config_hash=state.config_hash,
        seconds=found.seconds,
        codes=list(judged.codes),
        notes=[*candidate.notes, *found.notes],
    )


def _champion_keys(champion: Experiment | None) -> dict[str, Any]:
    """What the row was judged against."""
    if champion is None:
        return {}
    return {"best_before": champion.score, "champion_id": champion.id, "champion_commit": champion.commit_full}


def _params(terms: Terms, found: Findings) -> dict[str, object]:
    """The rule's numbers, and how many calls a batch of the kernel had: --iters may not ask for fewer."""
    calls = batch_calls(found.visit.report.sweep or {})
    params = rule_params(terms, found.judged, confirm=found.confirm)
    return params | ({"batch_calls": calls} if calls else {}) | dict(found.static)


def append_and_pin(git: Git, ledger: Ledger, row: Experiment, around: Surroundings) -> Experiment:
    """Write the row and keep its commit reachable for ever. A row that is written is never taken back.

    Raises Refused E_LEDGER, E_DISK_FULL or E_READ_ONLY with the ledger as it was.
    """
    written = ledger.append(row)
    for text in ledger.notices:
        around.notice(text)
    ledger.notices.clear()
    pin_row(git, written, around)
    return written


def pin_row(git: Git, row: Experiment, around: Surroundings) -> None:
    """refs/mjolnir/<tag>/<id>; when that fails, the next evaluation tries again."""
    if row.run is None or row.commit_full is None:
        return
    try:
        git.pin(row.run, row.id, row.commit_full)
    except MjolnirError as e:
        around.notice(f"the commit of #{row.id} is not pinned yet: {e.message}")
