"""The one place where a row is a dict or a line of JSON. Version 0 rows (mjolnir-cli 0.2.0) are upgraded here."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

import msgspec

from mjolnir.core.model import Experiment, RowGlance, Rule, Status
from mjolnir.store.tag import owner_of

SCHEMA = "mjolnir.ledger/1"
_KEYS = tuple(f.name for f in fields(Experiment))
_EXPERIMENTS = msgspec.json.Decoder(Experiment)
_GLANCES = msgspec.json.Decoder(RowGlance)


class TailKeys(msgspec.Struct, gc=False):
    """What says whose ledger this is."""

    id: int
    run: str | None = None
    branch: str | None = None


class ViewRow(msgspec.Struct, gc=False):
    """The columns of ledger.tsv; an Experiment has the same attributes."""

    id: int
    ts: str | None = None
    commit: str | None = None
    status: str | None = None
    score: float | None = None
    best_before: float | None = None
    correctness: str | None = None
    agent: str | None = None
    hypothesis: str | None = None
    reason: str | None = None


_VIEW_ROWS = msgspec.json.Decoder(ViewRow)
_TAIL_KEYS = msgspec.json.Decoder(TailKeys)


def row_to_json(row: Experiment) -> dict[str, Any]:
    """The row as plain JSON values, in the order of the record's fields. It shares the row's own containers."""
    return {k: getattr(row, k) for k in _KEYS} | {"status": str(row.status)}


def encode_row(row: Experiment) -> bytes:
    """One line of the ledger with its newline, pure ASCII. Raises ValueError for NaN and inf."""
    text = json.dumps(row_to_json(row), separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return text.encode("ascii") + b"\n"


def row_hash(row: Mapping[str, Any]) -> str:
    """Lower-case hex sha256 over the row without its `hash`, in canonical JSON (docs/ledger.md)."""
    body = {k: v for k, v in row.items() if k != "hash"}
    text = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def decode_row(line: bytes) -> Experiment:
    """One line as a record; keys that this version does not know are passed over. Raises ValueError."""
    try:
        row: Experiment = _EXPERIMENTS.decode(line)
    except (msgspec.MsgspecError, RecursionError):
        row = _convert(decode_json(line), Experiment)
    return row if row.schema is not None else _upgrade(row)


def decode_rows(lines: bytes) -> list[Experiment]:
    """Many lines at once. Raises ValueError, which does not say which line it was."""
    try:
        rows = _EXPERIMENTS.decode_lines(lines)
    except (msgspec.MsgspecError, RecursionError) as e:
        raise ValueError(str(e)) from e
    return [row if row.schema is not None else _upgrade(row) for row in rows]


def decode_glance(line: bytes) -> RowGlance:
    """The few keys that lists need; the rest of the line is not decoded. Raises ValueError."""
    try:
        return _GLANCES.decode(line)
    except (msgspec.MsgspecError, RecursionError):
        glance: RowGlance = _convert(decode_json(line), RowGlance)
        return glance


def decode_glances(lines: bytes) -> list[RowGlance]:
    """Many lines at once. Raises ValueError, which does not say which line it was."""
    try:
        return _GLANCES.decode_lines(lines)
    except (msgspec.MsgspecError, RecursionError) as e:
        raise ValueError(str(e)) from e


def decode_view_row(line: bytes) -> ViewRow:
    """The columns of ledger.tsv. Raises ValueError."""
    try:
        return _VIEW_ROWS.decode(line)
    except (msgspec.MsgspecError, RecursionError):
        row: ViewRow = _convert(decode_json(line), ViewRow)
        return row


def decode_view_rows(lines: bytes) -> list[ViewRow]:
    """Many lines at once. Raises ValueError, which does not say which line it was."""
    try:
        return _VIEW_ROWS.decode_lines(lines)
    except (msgspec.MsgspecError, RecursionError) as e:
        raise ValueError(str(e)) from e


def decode_tail_keys(line: bytes) -> TailKeys:
    """Id, run and branch of a line. Raises ValueError."""
    try:
        return _TAIL_KEYS.decode(line)
    except (msgspec.MsgspecError, RecursionError):
        keys: TailKeys = _convert(decode_json(line), TailKeys)
        return keys


def decode_json(line: bytes) -> dict[str, Any]:
    """The whole line, every key as it stands in the file. Raises ValueError.

    The standard library's reader takes what old writers produced and a strict one refuses: NaN (read as null) and half
    surrogate pairs.
    """
    try:
        value = json.loads(line, parse_constant=lambda _: None, object_pairs_hook=_unique_keys)
    except RecursionError as e:
        raise ValueError("nested too deep") from e
    if not isinstance(value, dict):
        raise ValueError("not a JSON object")
    return value


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice")
    return found


def _convert(row: dict[str, Any], kind: type[Any]) -> Any:
    """A dict as a record. In a version 0 row a null in place of text or a list counts as an absent key."""
    if row.get("schema") is None:
        row = {k: v for k, v in row.items() if v is not None}
    try:
        return msgspec.convert(row, type=kind)
    except msgspec.MsgspecError as e:
        raise ValueError(str(e)) from e


def _upgrade(row: Experiment) -> Experiment:
    """A version 0 row with `run` and `rule` filled in. Its `schema` stays None, so that it is known for what it is."""
    return replace(row, run=row.run or owner_of(None, row.branch), rule=row.rule or _rule_of_version_0(row))


def _rule_of_version_0(row: Experiment) -> str | None:
    """The clause behind a version 0 verdict: it stored only a sentence."""
    by_status = {Status.BASELINE: Rule.STARTING_KERNEL, Status.KEEP: Rule.GAIN, Status.NOISY: Rule.REFERENCE_UNSTABLE}
    if row.correctness == "fail":
        return Rule.INCORRECT
    if row.status is Status.CRASH:
        return Rule.STAGE_FAILED
    if row.status in by_status:
        return by_status[row.status]
    reason = row.reason or ""
    if "rests on" in reason:
        return Rule.RESTS_ON_ONE_LENGTH
    if "slower at" in reason:
        return Rule.SLOWER_AT_SEVERAL
    return Rule.GAIN_TOO_SMALL if row.status is Status.DISCARD else None
