"""The step before a GPU: what the compiler says of a kernel, and whether this very machine code was measured before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from mjolnir.core.model import Experiment, Status
from mjolnir.errors import Refused
from mjolnir.loop.budget import describe_first
from mjolnir.loop.surroundings import Surroundings
from mjolnir.store.foreign_text import one_line
from mjolnir.store.ledger import Ledger
from mjolnir.targets.protocol import KernelSource, StaticFacts, StaticTarget, Target

_LABEL_CHARS = 400


def find_static_facts(
    target: Target, kernel: KernelSource, lengths: Sequence[int], around: Surroundings
) -> StaticFacts | None:
    """The facts, told to whoever watches; None for a target that has no such step (cpu).

    Raises EnvironmentFault when nothing can be compiled here.
    """
    if not hasattr(target, "static_facts"):
        return None
    facts = cast(StaticTarget, target).static_facts(kernel, lengths, around.observe)
    if facts.label:
        around.notice(one_line(facts.label, _LABEL_CHARS))
    if facts.failure is not None:
        return replace(facts, failure=replace(facts.failure, stage="static"))
    return facts


def static_params(facts: StaticFacts | None) -> dict[str, Any]:
    """What a row says of the facts, so that a later program can be compared with it."""
    if facts is None or not facts.code_hash:
        return {}
    return {"static": {"arch": facts.arch, "code_hash": facts.code_hash}}


def require_new_code(facts: StaticFacts | None, ledger: Ledger, program: str) -> None:
    """Raises Refused E_SAME_PROGRAM, with the earlier row as `first`, when the device would run what it ran before.

    Another text (another `program` hash) of the same machine code is the same program, and its second measurement would
    be a second chance. Rows of this very text were looked at by budget.count_attempt; a row without times (wrong, or
    crashed) measured nothing, and what mends it may lie in host code that the facts do not see.
    """
    wanted = static_params(facts).get("static")
    if wanted is None:
        return
    for glance in ledger.glances():
        is_other_text = glance.status is not Status.NOISY and glance.program_hash != program
        row = ledger.row(glance.id) if is_other_text else None
        if row is not None and row.per_L and _static_of(row) == wanted:
            what = f"experiment #{row.id} measured it: {row.status.value} ({row.rule})"
            raise Refused(
                "E_SAME_PROGRAM",
                f"the same machine code and launches at every L as before; {what}",
                "change what the device does, commit, then evaluate (mjolnir verify static --against COMMIT)",
                extra={"first": describe_first(row)},
            )


def _static_of(row: Experiment) -> Mapping[str, Any] | None:
    found = (row.params or {}).get("static")
    return found if isinstance(found, dict) else None
