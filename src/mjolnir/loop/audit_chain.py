"""Every line of a ledger: is it a row, does its hash hold, does it follow the row before? All that is wrong is told."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any

import msgspec

from mjolnir.core.audit_finding import AuditFinding
from mjolnir.core.model import Experiment
from mjolnir.store.codec import decode_json, decode_row, row_hash
from mjolnir.store.foreign_text import one_line
from mjolnir.store.tag import owner_of

REPAIR = "mjolnir autoresearch audit --repair moves it aside and puts its copy in its place"
RESTORE = "compare with an export (research/runs/) or a copy; what was measured can only be measured again"
_HASH_PART_BYTES = len(b'"hash":"",') + 64
_PLAIN = msgspec.json.Decoder()


@dataclass(slots=True, kw_only=True)
class Chain:
    """The rows that are rows, oldest first, and of every line (one a row, damaged ones too) the hash it carries."""

    rows: list[Experiment] = field(default_factory=list)
    hashes: list[str | None] = field(default_factory=list)
    findings: list[AuditFinding] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Before:
    """The line before: `known` False after a damaged one, whose place in the chain nobody knows."""

    id: int | None = None
    hashes: tuple[str | None, ...] = (None,)
    known: bool = True
    is_old: bool = True


def read_chain(data: bytes, tag: str, *, is_ours: bool) -> Chain:
    """Every line of a ledger's bytes. `is_ours`: `init` began this run here, so no row of it is of version 0."""
    chain = Chain()
    *lines, rest = data.split(b"\n")
    before = _Before()
    for number, line in enumerate(lines, start=1):
        if line.strip():
            before = _take(chain, number, line, before, tag, is_ours=is_ours)
    if rest:
        chain.findings.append(
            _finding(None, f"line {len(lines) + 1}, the last, was torn in the middle of a write", REPAIR)
        )
    return chain


def _take(chain: Chain, number: int, line: bytes, before: _Before, tag: str, *, is_ours: bool) -> _Before:
    try:
        raw, computed = _read_line(line)
        row = decode_row(line)
    except ValueError as e:
        chain.hashes.append(None)
        chain.findings.append(_finding(None, f"line {number} is not a row: {one_line(str(e), 120)}", REPAIR))
        return _Before(id=before.id, known=False, is_old=before.is_old)
    stored = raw.get("hash")
    own = _own_faults(row, raw, computed, tag, is_ours=is_ours)
    place = _place_faults(row, raw, before)
    chain.findings += [_finding(row.id, what, RESTORE) for what in (*own, *place)]
    chain.rows.append(row)
    chain.hashes.append(stored or computed)
    return _Before(id=row.id, hashes=(stored, computed), is_old=row.schema is None)


def _read_line(line: bytes) -> tuple[dict[str, Any], str]:
    """The line's keys and its hash computed anew. Raises ValueError.

    Writing a row anew in canonical form costs most of an audit. msgspec does it in a fifth of the time and, for all
    that a ledger usually holds, with the same bytes; where the stored hash does not agree the exact way decides.
    The length shows a key that stands twice.
    """
    if line.isascii():
        try:
            raw = _PLAIN.decode(line)
        except (msgspec.MsgspecError, RecursionError):
            raw = None
        stored = raw.get("hash") if isinstance(raw, dict) else None
        if isinstance(stored, str):
            text = msgspec.json.encode({k: v for k, v in raw.items() if k != "hash"}, order="sorted")
            if len(text) + _HASH_PART_BYTES == len(line) and hashlib.sha256(text).hexdigest() == stored:
                return raw, stored
    raw = decode_json(line)
    return raw, row_hash(raw)


def _own_faults(row: Experiment, raw: dict[str, Any], computed: str, tag: str, *, is_ours: bool) -> list[str]:
    faults = []
    stored = raw.get("hash")
    if stored is None and (row.schema is not None or is_ours):
        faults.append(f"row #{row.id} has no hash")
    if stored is not None and stored != computed:
        faults.append(f"row #{row.id} does not match its own hash: it was edited")
    if stored is not None and row.schema is None:
        faults.append(f"row #{row.id} has a hash but no schema: it was edited")
    owner = owner_of(row.run, row.branch)
    if owner not in (None, tag):
        faults.append(f"row #{row.id} belongs to another run, {one_line(str(owner), 80)}")
    return faults


def _place_faults(row: Experiment, raw: dict[str, Any], before: _Before) -> list[str]:
    faults = []
    if before.id is not None and row.id <= before.id:
        faults.append(f"row #{row.id} stands after row #{before.id}: rows were reordered or doubled")
    elif row.schema is not None and before.known and row.id != (before.id or 0) + 1:
        what = f"follows row #{before.id}" if before.id is not None else "is the first"
        faults.append(f"row #{row.id} {what}: the rows before it were removed")
    if row.schema is None and not before.is_old:
        faults.append(f"row #{row.id} is of an old version and stands after newer ones: it was added")
    has_link = raw.get("hash") is not None and before.known
    if has_link and raw.get("prev") not in before.hashes:
        faults.append(f"row #{row.id} does not follow the row before it: a row was removed, added, edited or reordered")
    return faults


def _finding(row: int | None, message: str, hint: str) -> AuditFinding:
    return AuditFinding(code="E_LEDGER", row=row, message=message, hint=hint)
