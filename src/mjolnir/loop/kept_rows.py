"""The chain of champions out of a long ledger: the only rows that a status or a chart needs whole."""

from __future__ import annotations

from collections.abc import Sequence

from mjolnir.core.model import Experiment, RowGlance
from mjolnir.core.progress import kept_chain
from mjolnir.store.codec import decode_row
from mjolnir.store.row_file import RowFile, count_lines


def read_kept(file: RowFile, glances: Sequence[RowGlance]) -> list[tuple[Experiment, bytes]]:
    """Each champion among `glances` (every row of the file, in its order) with its line; nothing else is decoded.

    Raises Refused E_LEDGER with file and line.
    """
    # By place and not by id: in a version 0 ledger an id may stand twice.
    kept = {id(row) for row in kept_chain(glances)}
    places = {place for place, row in enumerate(glances) if id(row) in kept}
    if not places:
        return []
    lines = _lines_at(file, places, len(glances))
    return [(file.decode_line(decode_row, number, line), line) for number, line in lines]


def _lines_at(file: RowFile, places: set[int], total: int) -> list[tuple[int, bytes]]:
    """(number, line) of the rows at these places, counted from 0, of a file of `total` rows.

    A block is taken apart only where a wanted line is in it. That counts line ends, so where there are more of them
    than rows (a blank line, or a row that was appended meanwhile) each line is looked at.
    """
    found: list[tuple[int, bytes]] = []
    start = 0
    for block in file.blocks():
        count = count_lines(block)
        here = sorted(place for place in places if start <= place < start + count)
        lines = block.split(b"\n") if here else []
        found += [(place + 1, lines[place - start]) for place in here]
        start += count
    if start == total:
        return found
    return [pair for place, pair in enumerate(file.lines()) if place in places]
