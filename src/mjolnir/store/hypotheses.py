"""What every row of a ledger tried and what became of it; the rest of the line is not decoded."""

from __future__ import annotations

import msgspec

from mjolnir.store.codec import decode_json
from mjolnir.store.row_file import RowFile


class HypothesisGlance(msgspec.Struct, gc=False):
    """A row's idea and verdict. Everything is foreign text."""

    id: int
    status: str
    ts: str | None = None
    rule: str | None = None
    hypothesis: str | None = None


_HYPOTHESES = msgspec.json.Decoder(HypothesisGlance)


def read_hypotheses(file: RowFile) -> list[HypothesisGlance]:
    """Of every row of a file, in its order. Raises Refused E_LEDGER with file and line."""
    return file.decode_all(_decode_many, _decode_one)


def _decode_many(lines: bytes) -> list[HypothesisGlance]:
    try:
        return _HYPOTHESES.decode_lines(lines)
    except (msgspec.MsgspecError, RecursionError) as e:
        raise ValueError(str(e)) from e


def _decode_one(line: bytes) -> HypothesisGlance:
    try:
        return msgspec.convert(decode_json(line), type=HypothesisGlance)
    except msgspec.MsgspecError as e:
        raise ValueError(str(e)) from e
