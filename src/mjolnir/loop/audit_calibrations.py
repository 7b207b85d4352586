"""Every row under the rule confirmed against the calibration that it says it was judged with."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from mjolnir.core.audit_finding import AuditFinding
from mjolnir.core.calibration import Calibration, hash_fact, no_op_sentence, read_fact
from mjolnir.core.model import Experiment, Status
from mjolnir.errors import Refused
from mjolnir.loop.newest_fact import CALIBRATIONS
from mjolnir.store.beside import read_facts
from mjolnir.store.foreign_text import one_line

_EDITED = "the row was edited or forged: believe neither it nor what was judged against it; measure the kernel again"
_LOST = "bring calibrations.jsonl back from a copy; a keep that nothing vouches for: mjolnir autoresearch recheck"
_UNREADABLE = (TypeError, ValueError, KeyError, AttributeError, ArithmeticError)

Facts = Sequence[Mapping[str, Any]]


def check_calibrations(common_dir: Path, tag: str, rows: Sequence[Experiment]) -> Iterator[AuditFinding]:
    """The floor and the no-op rate of each row, worked out again from the raw times of its calibration."""
    named = [(row, _named(row)) for row in rows if _is_confirmed(row)]
    if all(said is None for _, said in named):
        return
    try:
        facts = read_facts(common_dir, tag, CALIBRATIONS, lambda text: None)
    except Refused as e:
        yield AuditFinding(code="E_CALIBRATION", message=e.message, hint=e.hint)
        return
    known: dict[str, Calibration | str] = {}
    is_calibrated = False
    for row, said in named:
        if said is None:
            if is_calibrated:
                yield _lost(row, "was judged without a calibration, though a row before it had one: it was removed")
            continue
        is_calibrated = True
        key = json.dumps([said.get("id"), said.get("hash")])
        if key not in known:
            known[key] = _find(facts, said)
        found = known[key]
        if isinstance(found, str):
            yield _lost(row, found)
            continue
        for what in _faults(row, said, found):
            yield AuditFinding(code="E_VERDICT", row=row.id, message=f"row #{row.id} {what}", hint=_EDITED)


def _is_confirmed(row: Experiment) -> bool:
    """A row that could have been confirmed: the run's first measurement has nothing to be confirmed against."""
    return row.schema is not None and isinstance(row.params, dict) and isinstance(row.params.get("confirm"), dict)


def _named(row: Experiment) -> dict[str, Any] | None:
    """The calibration as the row names it; a value that is no mapping names none that there is."""
    said = (row.params or {}).get("calibration")
    return said if said is None or isinstance(said, dict) else {"id": said}


def _find(facts: Facts, said: Mapping[str, Any]) -> Calibration | str:
    """The calibration, or what is wrong with it."""
    shown = one_line(str(said.get("id")), 40)
    same = [fact for fact in facts if fact.get("id") == said.get("id")]
    if not same:
        return f"was judged with the calibration {shown}, which is not beside the ledger any more"
    same = [fact for fact in same if hash_fact(fact) == said.get("hash")]
    if not same:
        return f"was judged with other contents of the calibration {shown}: it was edited since"
    try:
        return read_fact(same[0])
    except _UNREADABLE as e:
        return f"was judged with the calibration {shown}, which cannot be read: {one_line(str(e), 120)}"


def _faults(row: Experiment, said: Mapping[str, Any], found: Calibration) -> Iterator[str]:
    params = row.params or {}
    floor = params["confirm"].get("se_floor")
    if floor != found.se_floor:
        yield f"takes {floor!r:.40} as the least standard error; its calibration {found.id} says {found.se_floor!r}"
    if (found.target, found.config_hash) != (row.target, row.config_hash):
        yield f"was judged with the calibration {found.id}, which is of another configuration or target"
    try:
        share, sentence = (
            found.no_op_rate(str(params.get("rule"))).as_json(),
            no_op_sentence(found, str(params["rule"])),
        )
    except KeyError:
        yield f"was judged by a rule that its calibration {found.id} does not know"
        return
    if (said.get("no_op_rate"), said.get("runs")) != (share, found.runs):
        yield f"tells another rate of no-ops, or other runs, than its calibration {found.id}"
    if row.status is Status.KEEP and not (row.reason or "").endswith(f"; {sentence}"):
        yield f"gives the reason {row.reason!r:.200}, which does not end with what its calibration says: {sentence!r}"


def _lost(row: Experiment, what: str) -> AuditFinding:
    return AuditFinding(code="E_CALIBRATION", row=row.id, message=f"row #{row.id} {what}", hint=_LOST)
