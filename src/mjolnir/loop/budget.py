"""How often a program may be measured: once; again while it is noisy; once more on request after a discard or crash.

A second look at a random number is a second chance to be lucky, so looks are counted (docs/keep-rule.md).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from mjolnir.core.model import Experiment, RowGlance, Rule, Status
from mjolnir.errors import Refused

MAX_MEASUREMENTS = 2
_AGAIN = 'measure it a second and last time: mjolnir autoresearch evaluate --again -m "TEXT"'
_CHANGE = "change what the kernel does, commit, then evaluate"


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """`measurement`: which one of its program it is, from 1 on, noisy ones counted too; `decision`: which one that can
    decide, 1 or 2: only those are chances to be lucky."""

    measurement: int
    decision: int


def count_attempt(
    glances: Sequence[RowGlance], program: str, *, again: bool, read_row: Callable[[int], Experiment | None]
) -> Attempt:
    """Which measurement of `program` this would be.

    Raises Refused E_SAME_PROGRAM or E_BUDGET, which carry the first decisive row as `first`.
    """
    earlier = [g for g in glances if g.program_hash == program]
    decisive = [g for g in earlier if g.status is not Status.NOISY]
    if not decisive or (again and len(decisive) < MAX_MEASUREMENTS and is_repeatable(decisive[0])):
        return Attempt(measurement=len(earlier) + 1, decision=len(decisive) + 1)
    first = decisive[0]
    row = read_row(first.id)
    extra = {"first": describe_first(row)} if row is not None else {}
    score = f", score {row.score:.4f}" if row is not None and row.score is not None else ""
    what = f"experiment #{first.id} measured it: {first.status.value} ({first.rule}){score}"
    if len(decisive) >= MAX_MEASUREMENTS:
        raise Refused("E_BUDGET", f"this program was measured {len(decisive)} times; {what}", _CHANGE, extra=extra)
    hint = f"{_CHANGE}; or {_AGAIN}" if is_repeatable(first) else _CHANGE
    raise Refused("E_SAME_PROGRAM", f"the same program as before; {what}", hint, extra=extra)


def is_repeatable(row: RowGlance) -> bool:
    """True for a verdict that luck or the machine can have made: a discard of right answers, or a crash."""
    if row.status is Status.CRASH:
        return True
    return row.status is Status.DISCARD and row.rule != Rule.INCORRECT


def describe_first(row: Experiment) -> dict[str, Any]:
    """The earlier row as the answer to a question that was asked before."""
    return {
        "id": row.id,
        "status": row.status.value,
        "rule": row.rule,
        "reason": row.reason,
        "score": row.score,
        "commit": row.commit,
        "per_L": row.per_L,
        "vs_best": row.vs_best,
        "hypothesis": row.hypothesis,
    }
