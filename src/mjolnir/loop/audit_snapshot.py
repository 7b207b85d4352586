"""Ledger, mirror and anchor as they were at one moment, without a lock and without mending anything."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from dataclasses import dataclass

from mjolnir.core.audit_finding import AuditFinding
from mjolnir.errors import Refused
from mjolnir.store.anchor import Anchor, others_published, read_anchor
from mjolnir.store.ledger_files import LedgerFiles
from mjolnir.store.row_file import RowFile

_TRIES = 50
_WAIT_S = 0.01
"""An append takes some milliseconds; half a second of the same half state is what a dead process left."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """`ledger` and `mirror` whole, as bytes; `others` what other users of a shared repository vouch for; `findings`
    say what could not be read. An append was in progress, or its process died in it, while `anchor.pending` is set."""

    ledger: bytes
    mirror: bytes
    anchor: Anchor | None
    others: tuple[Anchor, ...]
    findings: tuple[AuditFinding, ...]


def take_snapshot(files: LedgerFiles, *, wait: Callable[[float], None] = time.sleep) -> Snapshot:
    """Read until nothing moved meanwhile: an append tells the anchor before it writes and after."""
    found = _read(files)
    for _ in range(_TRIES):
        if found.anchor == _quiet_anchor(files) and (found.anchor is None or found.anchor.pending is None):
            break
        wait(_WAIT_S)
        found = _read(files)
    return found


def _quiet_anchor(files: LedgerFiles) -> Anchor | None:
    with contextlib.suppress(Refused):
        return read_anchor(files.anchor) if files.anchor is not None else None
    return None


def _read(files: LedgerFiles) -> Snapshot:
    findings: list[AuditFinding] = []
    anchor: Anchor | None = None
    try:
        anchor = read_anchor(files.anchor) if files.anchor is not None else None
    except Refused as e:
        findings.append(AuditFinding(code="E_ANCHOR", message=e.message, hint=e.hint))
    ledger = _read_whole(files.ledger, findings)
    mirror = _read_whole(files.mirror, findings)
    return Snapshot(
        ledger=ledger,
        mirror=ledger if mirror == ledger else mirror,  # one copy of a long ledger is enough
        anchor=anchor,
        others=tuple(_others(files)),
        findings=tuple(findings),
    )


def _others(files: LedgerFiles) -> list[Anchor]:
    with contextlib.suppress(Refused):
        return list(others_published(files.writers))
    return []


def _read_whole(file: RowFile, findings: list[AuditFinding]) -> bytes:
    """Every byte; nothing for a file that is missing, or that is no plain readable one (a finding says so)."""
    try:
        if not file.size_bytes():
            return b""
        with os.fdopen(file.open(), "rb") as stream:
            return stream.read()
    except FileNotFoundError:
        return b""
    except Refused as e:
        findings.append(AuditFinding(code="E_LEDGER", message=e.message, hint=e.hint))
        return b""
