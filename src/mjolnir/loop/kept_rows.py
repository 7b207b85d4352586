"""The chain of champions out of a long ledger: the only rows that a status or a chart needs whole."""

from __future__ import annotations

from collections.abc import Sequence

from mjolnir.core.model import Experiment, RowGlance
from mjolnir.core.progress import kept_chain
from mjolnir.store.codec import decode_row
from mjolnir.store.row_file import RowFile


def read_kept(file: RowFile, glances: Sequence[RowGlance]) -> list[tuple[Experiment, bytes]]:
    """Each champion among `glances` (every row of the file, in its order) with its line; nothing else is decoded.

    Raises Refused E_LEDGER with file and line.
    """
    # By place and not by id: in a version 0 ledger an id may stand twice.
    kept = {id(row) for row in kept_chain(glances)}
    places = {place for place, row in enumerate(glances) if id(row) in kept}
    if not places:
        return []
    return [
        (file.decode_line(decode_row, number, line), line)
        for place, (number, line) in enumerate(file.lines())
        if place in places
    ]
