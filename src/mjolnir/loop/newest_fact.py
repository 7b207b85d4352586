"""The newest of the facts that are kept beside a run's ledger, for whoever only shows it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from mjolnir.errors import Refused
from mjolnir.store.beside import read_facts

CALIBRATIONS = "calibrations"
RECHECKS = "rechecks"


def newest_fact(common_dir: Path, tag: str | None, name: str, notice: Callable[[str], None]) -> dict[str, Any] | None:
    """The newest fact of a kind as it stands in its file; None where there is none, or none that can be read, which is
    then told to `notice`."""
    if tag is None:
        return None
    try:
        facts = read_facts(common_dir, tag, name, notice)
    except Refused as e:
        notice(f"{e.message}; {e.hint}")
        return None
    return facts[-1] if facts else None
