"""`audit`: does everything that a run left behind still say the same? Reads only; prints nothing."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from mjolnir.core.audit_finding import AuditFinding
from mjolnir.core.model import Experiment
from mjolnir.errors import Refused
from mjolnir.loop.audit_calibrations import check_calibrations
from mjolnir.loop.audit_chain import Chain, read_chain
from mjolnir.loop.audit_copies import check_anchor, check_mirror
from mjolnir.loop.audit_documents import check_documents
from mjolnir.loop.audit_frozen import Frozen, check_frozen, read_frozen
from mjolnir.loop.audit_objects import check_objects, check_pins, check_replacements
from mjolnir.loop.audit_snapshot import Snapshot, take_snapshot
from mjolnir.loop.audit_verdicts import check_verdicts, passed_over, run_terms
from mjolnir.store.git import Git
from mjolnir.store.ledger_files import LedgerFiles, ledger_files, ledger_owner
from mjolnir.store.run_state import list_tags
from mjolnir.store.tag import tag_of_branch
from mjolnir.targets.protocol import Observe, Progress

_PIN_WAIT_S = 0.3
"""A row is pinned right after it was written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Audited:
    """`rows`: how many lines the ledger holds; `notes` are sentences for the user that are no findings."""

    run: str
    rows: int
    findings: tuple[AuditFinding, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """What is audited."""

    git: Git
    tag: str
    files: LedgerFiles


def find_place(cwd: Path) -> Place:
    """The run around `cwd`: that of the branch, else the one whose ledger lies in the work tree, else the only one.

    Raises Refused E_REPOSITORY and E_RUN (there is no run), EnvironmentFault E_GIT.
    """
    git = Git.find(cwd)
    tag = tag_of_branch(git.branch()) or _owner(git) or _only_run(git)
    if tag is None:
        raise Refused("E_RUN", f"there is no run in {git.root} to audit", "start one: mjolnir autoresearch init TAG")
    return Place(git=git, tag=tag, files=ledger_files(git.root, git.common_dir, tag))


def _owner(git: Git) -> str | None:
    """Whose rows lie in the work tree; a first line that is damaged does not say it, and that is what audit is for."""
    try:
        return ledger_owner(git.root)
    except Refused:
        return None


def _only_run(git: Git) -> str | None:
    tags = list_tags(git.common_dir)
    return tags[0] if len(tags) == 1 else None


def audit_run(place: Place, observe: Observe, *, wait: Callable[[float], None] = time.sleep) -> Audited:
    """Everything that is wrong with a run, nothing mended. Raises EnvironmentFault E_GIT."""
    git, tag = place.git, place.tag
    pins_before = git.pinned(tag)
    snapshot = take_snapshot(place.files, wait=wait)
    frozen = read_frozen(git.common_dir, tag, snapshot.anchor)
    _tell(observe, "chain", snapshot)
    chain = read_chain(snapshot.ledger, tag, is_ours=frozen.exists)
    findings = [
        *snapshot.findings,
        *chain.findings,
        *check_mirror(snapshot, is_ours=frozen.exists),
        *check_anchor(snapshot, chain, place.files.anchor, is_ours=frozen.exists),
        *check_frozen(frozen, chain.rows),
        *check_verdicts(chain.rows, run_terms(frozen.state), observe),
        *(check_calibrations(git.common_dir, tag, chain.rows) if frozen.exists else ()),
    ]
    _tell(observe, "repository", snapshot)
    findings += _check_repository(place, chain.rows, frozen)
    findings += _check_pins(place, chain.rows, pins_before, wait)
    notes = tuple(_notes(place, snapshot, chain))
    return Audited(run=tag, rows=len(chain.hashes), findings=tuple(findings), notes=notes)


def _tell(observe: Observe, stage: str, snapshot: Snapshot) -> None:
    observe(Progress(stage=stage, detail=f"{len(snapshot.ledger):,} bytes", done=0, total=0))


def _check_repository(place: Place, rows: list[Experiment], frozen: Frozen) -> Iterator[AuditFinding]:
    yield from check_replacements(place.git)
    yield from check_objects(place.git, rows, frozen.state.kernel if frozen.state is not None else None)
    yield from check_documents(place.git.root, rows)


def _check_pins(
    place: Place, rows: list[Experiment], pins_before: dict[int, str], wait: Callable[[float], None]
) -> list[AuditFinding]:
    found = list(check_pins(place.tag, rows, place.git.pinned(place.tag), pins_before))
    if [finding.row for finding in found] == [row.id for row in rows[-1:]]:
        wait(_PIN_WAIT_S)  # the newest row alone: its process may be about to pin it
        found = list(check_pins(place.tag, rows, place.git.pinned(place.tag), pins_before))
    return found


def _notes(place: Place, snapshot: Snapshot, chain: Chain) -> Iterator[str]:
    count = passed_over(chain.rows)
    if count:
        yield f"{count:,} rows of version 0 hold no numbers: their verdicts were passed over"
    if snapshot.anchor is not None and snapshot.anchor.pending is not None:
        yield "an append did not come to its end (its process died, or runs); the next command ends it"
    if place.files.anchor is None:
        yield "this user has no home, so the run has no anchor: rows that are cut off do not show"
