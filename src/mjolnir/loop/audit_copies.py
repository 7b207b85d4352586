"""The ledger against its mirror under the git directory and against the anchor outside of the repository."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from mjolnir.core.audit_finding import AuditFinding
from mjolnir.loop.audit_chain import REPAIR, RESTORE, Chain
from mjolnir.loop.audit_snapshot import Snapshot
from mjolnir.store.anchor import Anchor
from mjolnir.store.codec import decode_glance

_LEVEL = "any command restores what is missing from the other copy: mjolnir autoresearch status"
_MOVED = (
    "nothing to mend if the repository was moved or copied; else somebody removed it, and rows cut off before then do "
    "not show: compare with an export (research/runs/)"
)


def check_mirror(found: Snapshot, *, is_ours: bool) -> Iterator[AuditFinding]:
    """Rows that one copy has and the other has not. A row that is being appended is no difference."""
    if found.mirror == found.ledger:
        return
    if not found.mirror:
        if is_ours:
            yield _ledger(None, "the ledger's mirror under the git directory is gone", _LEVEL)
        return
    pending = found.anchor.pending if found.anchor is not None else None
    ours, copies = (_settled_lines(data, pending) for data in (found.ledger, found.mirror))
    if found.mirror.rpartition(b"\n")[2]:
        yield _ledger(None, "the last line of the ledger's mirror was torn in the middle of a write", REPAIR)
    if ours == copies:
        return
    yield from _differences(ours, copies)


def _differences(ours: list[bytes], copies: list[bytes]) -> Iterator[AuditFinding]:
    in_ledger, in_mirror = set(ours), set(copies)
    only_here = [_id_of(line) for line in ours if line not in in_mirror]
    only_there = [_id_of(line) for line in copies if line not in in_ledger]
    if not only_here and not only_there:
        yield _ledger(None, "the ledger has its rows in another order, or more than once, against its mirror", RESTORE)
        return
    is_beginning = not only_here and copies[: len(ours)] == ours
    if is_beginning or (not only_there and ours[: len(copies)] == copies):
        short, whole = sorted((len(ours), len(copies)))
        name = "ledger" if is_beginning else "mirror"
        yield _ledger(None, f"the {name} holds {short:,} of the {whole:,} rows that its copy has", _LEVEL)
        return
    for row in only_here:
        what = "differs from its copy in the mirror" if row in only_there else "is not in the mirror"
        yield _ledger(row, f"{_name(row)} {what}", RESTORE)
    for row in only_there:
        if row not in only_here:
            yield _ledger(row, f"{_name(row)} is in the mirror and not in the ledger", RESTORE)


def check_anchor(found: Snapshot, chain: Chain, path: Path | None, *, is_ours: bool) -> Iterator[AuditFinding]:
    """How many rows there were and which was the last. `is_ours`: `init` began this run in this repository."""
    anchor, hashes = found.anchor, chain.hashes
    if anchor is None:
        is_vouched = any(_knows(other, hashes) for other in found.others)
        is_readable = not any(finding.code == "E_ANCHOR" for finding in found.findings)
        if is_ours and path is not None and is_readable and not is_vouched:
            yield _anchor(f"the anchor of this run is gone ({path}): rows that were cut off do not show", _MOVED)
        return
    if is_ours and anchor.run_hash is None:
        yield _anchor("the anchor was made anew after the run began: rows cut off before then do not show", _MOVED)
    if len(hashes) < anchor.rows:
        what = f"the ledger holds {len(hashes):,} rows, but {anchor.rows:,} were recorded: rows were removed"
        yield _anchor(what, RESTORE)
    elif anchor.rows and hashes[anchor.rows - 1] != anchor.last_hash:
        what = f"the row in place {anchor.rows:,} is not the one that was recorded there: rows were replaced"
        yield _anchor(what, RESTORE)
    elif len(hashes) > anchor.rows and not any(_knows(known, hashes) for known in (anchor, *found.others)):
        what = f"{len(hashes) - anchor.rows:,} rows after place {anchor.rows:,} were written by no mjolnir known here"
        yield _anchor(what, RESTORE)


def _knows(anchor: Anchor, hashes: list[str | None]) -> bool:
    """True when these are the anchor's rows, the one that it says is being written included."""
    last = hashes[-1] if hashes else None
    if len(hashes) == anchor.rows:
        return anchor.last_hash == last
    return len(hashes) == anchor.rows + 1 and anchor.pending is not None and anchor.pending == last


def _settled_lines(data: bytes, pending: str | None) -> list[bytes]:
    """Whole lines; the last one is left out when it is the row that is being appended."""
    lines = [line for line in data.split(b"\n")[:-1] if line.strip()]
    if lines and pending is not None and _hash_of(lines[-1]) == pending:
        lines.pop()
    return lines


def _hash_of(line: bytes) -> str | None:
    try:
        return decode_glance(line).hash
    except ValueError:
        return None


def _id_of(line: bytes) -> int | None:
    try:
        return decode_glance(line).id
    except ValueError:
        return None


def _name(row: int | None) -> str:
    return f"row #{row}" if row is not None else "a damaged line"


def _ledger(row: int | None, message: str, hint: str) -> AuditFinding:
    return AuditFinding(code="E_LEDGER", row=row, message=message, hint=hint)


def _anchor(message: str, hint: str) -> AuditFinding:
    return AuditFinding(code="E_ANCHOR", message=message, hint=hint)
