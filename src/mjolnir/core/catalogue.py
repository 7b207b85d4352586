"""Every word that mjolnir answers with, what it means and what to do: `mjolnir explain` (texts: catalogue_text)."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from functools import cache

from mjolnir.core.catalogue_text import ENVIRONMENT, EXITS, FINDINGS, INVALID, REFUSALS, RULES, STATUSES
from mjolnir.errors import UsageFault


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One code. `kind`: status, rule, invalid (a row's integrity code), refusal, finding (of audit),
    environment or exit.

    `meaning` is a sentence or two; `mend` is what to do or to type, empty where there is nothing to mend.
    """

    code: str
    kind: str
    meaning: str
    mend: str


@cache
def entries() -> tuple[Entry, ...]:
    """Every entry: statuses, rules, codes of invalid rows, refusals, findings of audit, faults, exits."""
    kinds = {
        "status": STATUSES,
        "rule": RULES,
        "invalid": INVALID,
        "refusal": REFUSALS,
        "finding": FINDINGS,
        "environment": ENVIRONMENT,
        "exit": EXITS,
    }
    return tuple(
        Entry(code=code, kind=kind, meaning=meaning, mend=mend)
        for kind, texts in kinds.items()
        for code, (meaning, mend) in texts.items()
    )


def explain(code: str) -> Entry:
    """The entry of a status, rule, code or exit ("keep", "E_DIRTY", "dirty", "4", "exit 4"), upper or lower case.

    Raises UsageFault, which names the nearest codes, for a word that is none.
    """
    known = {entry.code.lower(): entry for entry in entries()}
    word = code.strip().lower().removeprefix("exit").strip().replace("-", "_").replace(" ", "_")
    for form in (word, f"e_{word}"):
        if form in known:
            return known[form]
    near = difflib.get_close_matches(word, known, n=3, cutoff=0.5)
    near = near or difflib.get_close_matches(f"e_{word}", known, n=3, cutoff=0.6)
    names = " or ".join(known[form].code for form in near)
    hint = f"did you mean {names}? mjolnir explain lists all" if near else "mjolnir explain lists all"
    raise UsageFault(f"{code[:40]!r} is no status, rule, code or exit of mjolnir", hint)
