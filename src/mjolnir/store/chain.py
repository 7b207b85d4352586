"""The chain: each row holds the hash of the row before it and its own, so an edit or a missing row shows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mjolnir.errors import Refused
from mjolnir.store.codec import decode_json, row_hash
from mjolnir.store.row_file import RowFile
from mjolnir.store.tag import owner_of


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainState:
    """Whether the ledger is what it was. `rows` is the count of rows that are there; `problem` is None when ok."""

    ok: bool
    rows: int
    problem: Refused | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """What one row says of its place in the chain."""

    number: int
    id: int
    prev: str | None
    hash: str
    has_hash: bool
    owner: str | None


def read_link(number: int, line: bytes) -> Link:
    """The link of a line, its hash computed anew (version 0 rows carry none). Raises ValueError where they differ."""
    row = decode_json(line)
    computed = row_hash(row)
    stored = row.get("hash")
    if stored is None and row.get("schema") is not None:
        raise ValueError("has no hash")
    if stored is not None and stored != computed:
        raise ValueError("does not match its own hash: it was edited")
    if type(row.get("id")) is not int:
        raise ValueError("has no integer id")
    owner = owner_of(_text(row.get("run")), _text(row.get("branch")))
    return Link(
        number=number, id=row["id"], prev=row.get("prev"), hash=computed, has_hash=stored is not None, owner=owner
    )


def walk(file: RowFile, tag: str | None) -> Iterator[Link]:
    """Every link of a file in order. Raises Refused E_LEDGER at the first line that does not fit the one before."""
    before: Link | None = None
    for number, line in file.lines():
        link = follow(file, number, line, before)
        if tag is not None and link.owner not in (None, tag):
            raise file.damage(number, f"belongs to another run, {link.owner}")
        yield link
        before = link


def follow(file: RowFile, number: int, line: bytes, before: Link | None) -> Link:
    """The link of a line that comes after `before`. Raises Refused E_LEDGER with file and line."""
    try:
        link = read_link(number, line)
    except ValueError as e:
        raise file.damage(number, f"is not a sound row: {e}") from e
    if before is not None and link.id <= before.id:
        raise file.damage(number, f"has id {link.id} after id {before.id}: rows were reordered or doubled")
    if link.has_hash and link.prev != (before.hash if before else None):
        raise file.damage(number, "does not follow the row before it: a row was removed, added or reordered")
    return link


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
