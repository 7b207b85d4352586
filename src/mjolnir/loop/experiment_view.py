"""One experiment whole: its row, its diff, its run documents."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mjolnir.core.model import Experiment, Status
from mjolnir.errors import EnvironmentFault, Refused, UsageFault
from mjolnir.loop.notebook import Notebook
from mjolnir.loop.stage_log import LOGS
from mjolnir.store.git import Git
from mjolnir.store.runs import find_document, read_document

_COMMIT = re.compile(r"[0-9a-f]{4,64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperimentView:
    """One experiment whole: its row (and as it stands in the ledger), its diff when asked for, its run documents, and
    the logs of its commit, oldest first: a crash keeps one."""

    row: Experiment
    plain: dict[str, Any]
    diff: str | None
    documents: tuple[RunDocumentView, ...]
    logs: tuple[Path, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunDocumentView:
    """A run document that the row names. `path` is None when it is gone, `document` when it cannot be read."""

    stage: str
    run_id: str
    path: Path | None
    document: dict[str, Any] | None


def read_experiment(notebook: Notebook, row_id: int, *, with_diff: bool) -> ExperimentView:
    """The experiment `row_id`. Raises UsageFault when there is none, Refused E_LEDGER."""
    ledger = notebook.ledger
    row = ledger.row(row_id) if ledger is not None else None
    plain = ledger.raw_row(row_id) if ledger is not None else None
    if row is None or plain is None:
        count = ledger.count() if ledger is not None else 0
        raise UsageFault(f"there is no experiment #{row_id} among {count:,}", "mjolnir autoresearch ledger")
    return ExperimentView(
        row=row,
        plain=plain,
        diff=read_diff(notebook.git, row, notebook.kernel) if with_diff else None,
        documents=tuple(
            _document(notebook.git.root, stage, run_id) for stage, run_id in row.verify_runs.items() if run_id
        ),
        logs=_logs(notebook.git.root, row),
    )


def read_diff(git: Git, row: Experiment, kernel: str) -> str | None:
    """The kernel's change against the champion it was judged by, else against its parent.

    Empty where the kernel did not change, as for the starting kernel; None where the commits are unknown here.
    """
    head = row.commit_full or row.commit
    if head is None or not _COMMIT.fullmatch(head):
        return None
    base = row.champion_commit or row.parent_full
    if row.status is Status.BASELINE and row.champion_commit is None:
        return ""
    if base is not None and not _COMMIT.fullmatch(base):
        return None
    try:
        return git.diff(base or f"{head}^", head, kernel)
    except EnvironmentFault:
        return None  # the commits of an old or copied ledger may be gone


def _logs(root: Path, row: Experiment) -> tuple[Path, ...]:
    """research/logs/<tag>-<time>-<commit>.log, by the part of the name that the commit gives."""
    commit = row.commit_full or ""
    return tuple(sorted((root / LOGS).glob(f"*-{commit[:12]}.log"))) if _COMMIT.fullmatch(commit) else ()


def _document(root: Path, stage: str, run_id: str) -> RunDocumentView:
    ref = find_document(root, stage, run_id)
    if ref is None:
        return RunDocumentView(stage=stage, run_id=run_id, path=None, document=None)
    try:
        document = read_document(ref)
    except Refused:
        document = None
    return RunDocumentView(stage=stage, run_id=run_id, path=ref.path, document=document)
