"""Every verdict worked out again, and what a row says of the rows before it: champion, attempt, score to beat."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from mjolnir.core.audit_finding import AuditFinding
from mjolnir.core.model import Experiment, Status
from mjolnir.core.rejudge import RunTerms, has_numbers, is_version_0, rejudge
from mjolnir.core.rejudge_numbers import LOOSE, close
from mjolnir.loop.budget import MAX_MEASUREMENTS
from mjolnir.store.run_state import RunState
from mjolnir.targets.protocol import Observe, Progress

_HINT = "the row was edited or forged: believe neither it nor what was judged against it; measure the kernel again"
_CHAMPIONS = (Status.BASELINE, Status.KEEP)
_STEP_ROWS = 500


def run_terms(state: RunState | None) -> RunTerms | None:
    """What `init` froze of the judging; None where run.json does not say it."""
    if state is None:
        return None
    try:
        lengths = tuple(state.config["targets"][state.target]["lengths"])
    except (KeyError, TypeError):
        return None
    return RunTerms(rule=state.rule, min_gain=state.min_gain, required=lengths)


def check_verdicts(rows: Sequence[Experiment], terms: RunTerms | None, observe: Observe) -> Iterator[AuditFinding]:
    """One finding for each thing that does not follow, oldest row first."""
    history = _History()
    for done, row in enumerate(rows):
        if done % _STEP_ROWS == 0:
            observe(Progress(stage="verdicts", detail=f"#{row.id}", done=done, total=len(rows)))
        faults = rejudge(row, history.champion, terms)
        if not is_version_0(row):
            faults += history.faults(row)
        history.add(row)
        for what in faults:
            yield AuditFinding(code="E_VERDICT", row=row.id, message=f"row #{row.id} {what}", hint=_HINT)


def passed_over(rows: Sequence[Experiment]) -> int:
    """How many rows of version 0 hold no numbers to judge again."""
    return sum(1 for row in rows if is_version_0(row) and not has_numbers(row))


class _History:
    """The rows so far."""

    def __init__(self) -> None:
        self.champion: Experiment | None = None
        self._measured: Counter[str] = Counter()
        self._decided: Counter[str] = Counter()

    def add(self, row: Experiment) -> None:
        if row.status in _CHAMPIONS:
            self.champion = row
        if row.program_hash is not None:
            self._measured[row.program_hash] += 1
            self._decided[row.program_hash] += row.status is not Status.NOISY

    def faults(self, row: Experiment) -> list[str]:
        best = self.champion
        wanted = (best.id, best.commit_full) if best is not None else (None, None)
        faults = []
        if (row.champion_id, row.champion_commit) != wanted:
            was = f"#{best.id}" if best is not None else "none yet"
            faults.append(f"was judged against #{row.champion_id}, but the champion before it was {was}")
        if not close(row.best_before, best.score if best is not None else None, LOOSE):
            faults.append(f"has {row.best_before!r:.40} as the score before it, which is not its champion's")
        return [*faults, *self._count_faults(row)]

    def _count_faults(self, row: Experiment) -> Iterator[str]:
        program = row.program_hash or ""
        if row.attempt != self._measured[program] + 1:
            yield f"is called attempt {row.attempt}; its program was measured {self._measured[program]} times before"
        decided = self._decided[program]
        if decided >= MAX_MEASUREMENTS:
            yield f"decides about one program for the {decided + 1}th time; {MAX_MEASUREMENTS} are allowed"
        attempt = row.confirm.get("attempt") if isinstance(row.confirm, dict) else None
        unrecorded = ((row.params or {}).get("confirm") or {}).get("unrecorded")
        stricter = MAX_MEASUREMENTS if unrecorded else decided + 1
        if attempt is not None and attempt not in (decided + 1, stricter):
            yield f"was confirmed as attempt {attempt!r:.20}; its program was decided {decided} times before"
