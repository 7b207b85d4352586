"""The run documents that rows name: are they there, and can they be read?"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from mjolnir.core.audit_finding import AuditFinding
from mjolnir.core.model import Experiment
from mjolnir.store.runs import FOLDER

_HINT = "bring research/verify back from a copy; without it the raw times of these rows cannot be looked at"
_FORGED = "the row was edited or forged: nothing shows that it was measured; measure the kernel again"


def check_documents(root: Path, rows: Sequence[Experiment]) -> Iterator[AuditFinding]:
    """Folders are listed, no document is opened. A stage that is gone as a whole is one finding."""
    for row in rows:
        for stage in _stages_due(row):
            what = f"row #{row.id} has numbers of the stage {stage}, but names no run document of it"
            yield AuditFinding(code="E_DOCUMENT", row=row.id, message=what, hint=_FORGED)
    wanted: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for row in rows:
        for stage, run_id in row.verify_runs.items() if row.schema is not None else ():
            if run_id is not None:
                wanted[stage].append((row.id, run_id))
    for stage, named in wanted.items():
        there = _readable(root / FOLDER / stage) if "/" not in stage and stage.isprintable() else set()
        if not there:
            what = f"{FOLDER}/{stage[:40]} has no run document, but {len(named):,} rows name one"
            yield AuditFinding(code="E_DOCUMENT", message=what, hint=_HINT)
            continue
        for row_id, run_id in named:
            if f"{run_id}.json" not in there:
                what = f"the run document {stage}/{run_id[:40]} of row #{row_id} is missing or cannot be read"
                yield AuditFinding(code="E_DOCUMENT", row=row_id, message=what, hint=_HINT)


def _stages_due(row: Experiment) -> list[str]:
    """The stages whose numbers a row has and whose run document it does not name."""
    if row.schema is None or row.score is None:
        return []
    due = ("correctness", "sweep") if row.confirm is None else ("correctness", "sweep", "confirm")
    return [stage for stage in due if row.verify_runs.get(stage) is None]


def _readable(folder: Path) -> set[str]:
    """Names of regular files with something in them that this user may read."""
    try:
        with os.scandir(folder) as entries:
            return {
                entry.name
                for entry in entries
                if entry.is_file(follow_symlinks=False)
                and entry.stat(follow_symlinks=False).st_size
                and os.access(entry.path, os.R_OK)
            }
    except OSError:
        return set()
