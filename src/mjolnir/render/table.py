"""The ledger as a table: one line a row, newest last; a narrow reader gets fewer columns, never broken lines."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

from mjolnir.core.model import Experiment, Status
from mjolnir.render.number import DASH, gain_text, row_relative, score_text, when_text
from mjolnir.render.style import CHAMPION_GLYPH, STATUS_STYLES
from mjolnir.render.text import one_line

_CELL_LIMIT = 240
"""Characters of a hypothesis that a cell is given; the table cuts them to its width."""
_GAP_CELLS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class _Column:
    """`cells`: the width it needs; a flexible column takes what is left and needs at least that. `rank`: the column
    with the highest rank goes first when the reader is narrow."""

    name: str
    cells: int
    rank: int
    right: bool = False
    flexible: bool = False


_COLUMNS = (
    _Column(name="id", cells=3, rank=0, right=True),
    _Column(name="when", cells=11, rank=5),
    _Column(name="commit", cells=7, rank=4),
    _Column(name="status", cells=10, rank=0),
    _Column(name="score", cells=8, rank=0, right=True),
    _Column(name="relative", cells=8, rank=2, right=True),
    _Column(name="agent", cells=12, rank=6),
    _Column(name="hypothesis", cells=22, rank=1, flexible=True),
    _Column(name="why", cells=22, rank=3, flexible=True),
)


def status_text(status: Status) -> Text:
    """Glyph and word of a status, in its colour."""
    style = STATUS_STYLES[status]
    return Text(f"{style.glyph} {status.value}", style=style.terminal)


def ledger_table(rows: Sequence[Experiment], *, champion_id: int | None, width: int) -> Table:
    """`rows` as a table of at most `width` cells; the champion carries a star."""
    columns = _fitting(width, max((len(str(row.id)) for row in rows), default=1))
    table = Table(box=None, pad_edge=False, padding=(0, _GAP_CELLS, 0, 0), header_style="dim", expand=False)
    flexible = _flexible_cells(columns, rows, width)
    for column in columns:
        table.add_column(
            Text(column.name),
            justify="right" if column.right else "left",
            no_wrap=True,
            overflow="ellipsis",
            max_width=flexible[column.name] if column.flexible else max(column.cells, cell_len(column.name)),
        )
    for row in rows:
        is_champion = row.id == champion_id
        table.add_row(
            *(_CELLS[column.name](row, is_champion) for column in columns), style="bold" if is_champion else ""
        )
    return table


def _fitting(width: int, id_cells: int) -> list[_Column]:
    columns = [
        _Column(name="id", cells=max(2, id_cells), rank=0, right=True) if column.name == "id" else column
        for column in _COLUMNS
    ]
    while sum(column.cells + _GAP_CELLS for column in columns) - _GAP_CELLS > width:
        least = max(columns, key=lambda column: column.rank)
        if least.rank <= 1:
            break
        columns.remove(least)
    return columns


def _flexible_cells(columns: Sequence[_Column], rows: Sequence[Experiment], width: int) -> Mapping[str, int]:
    """The cells of each flexible column: equal parts of what is left; what one needs not, the other has."""
    fixed = sum(column.cells for column in columns if not column.flexible) + _GAP_CELLS * len(columns)
    flexible = [column for column in columns if column.flexible]
    left, cells = max(8 * len(flexible), width - fixed), dict[str, int]()
    needed = {
        column.name: max((_CELLS[column.name](row, False).cell_len for row in rows), default=0) for column in flexible
    }
    for column in sorted(flexible, key=lambda column: needed[column.name]):
        cells[column.name] = min(max(needed[column.name], 8), left // (len(flexible) - len(cells)))
        left -= cells[column.name]
    return cells


def _score_cell(row: Experiment, is_champion: bool) -> Text:
    return Text(score_text(row.score) + (CHAMPION_GLYPH if is_champion else " "))


def _status_cell(row: Experiment, is_champion: bool) -> Text:
    del is_champion
    return status_text(row.status)


def _text_cell(read: Callable[[Experiment], str | None]) -> Callable[[Experiment, bool], Text]:
    def cell(row: Experiment, is_champion: bool) -> Text:
        del is_champion
        return Text(one_line(read(row), _CELL_LIMIT) or DASH)

    return cell


_CELLS: Mapping[str, Callable[[Experiment, bool], Text]] = {
    "id": _text_cell(lambda row: str(row.id)),
    "when": _text_cell(lambda row: when_text(row.ts)),
    "commit": _text_cell(lambda row: (row.commit or "")[:7]),
    "status": _status_cell,
    "score": _score_cell,
    "relative": _text_cell(lambda row: gain_text(row_relative(row))),
    "agent": _text_cell(lambda row: row.agent),
    "hypothesis": _text_cell(lambda row: row.hypothesis),
    "why": _text_cell(lambda row: row.reason),
}
