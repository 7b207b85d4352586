"""The ledger as a table: one line a row at every width, columns that go when there is no room, text as data."""

from __future__ import annotations

import io

import pytest
from rich.cells import cell_len
from rich.console import Console

from mjolnir.render.table import ledger_table


def shown(rows, width, champion_id=None):
    console = Console(file=io.StringIO(), width=width, highlight=False)
    console.print(ledger_table(rows, champion_id=champion_id, width=width))
    return [line.rstrip() for line in console.file.getvalue().splitlines()]


def test_a_wide_reader_sees_every_column_and_the_champion_is_marked(make_row):
    rows = [
        make_row(1, "baseline", score=1.0, vs_best={}, reason="the starting kernel", hypothesis="baseline"),
        make_row(2, "keep", reason="geomean +4.1%"),
        make_row(3, "crash", score=None, vs_best={}, per_L={}, reason="no score (a stage failed)"),
    ]
    assert shown(rows, 160, champion_id=2) == [
        "id  when         commit   status        score  relative  agent         hypothesis       why",
        " 1  03-01 00:05  3a90293  ◆ baseline   1.0000         —  autoresearch  baseline         the starting kernel",
        " 2  03-01 00:05  3a90293  ✓ keep      1.0412★    +4.1 %  autoresearch  split the pages  geomean +4.1%",
        " 3  03-01 00:05  3a90293  ✗ crash           —         —  autoresearch  split the pages  "
        "no score (a stage failed)",
    ]


@pytest.mark.parametrize("width", [60, 72, 80, 100, 120, 200])
def test_no_line_is_wider_than_the_reader_and_a_row_is_one_line(make_row, hostile, width):
    rows = [make_row(1), make_row(123456, hypothesis=hostile * 20000, reason="[/=]" * 90, agent="中文" * 90)]
    lines = shown(rows, width)
    assert len(lines) == 3
    assert all(cell_len(line) <= width for line in lines)


def test_a_narrow_reader_keeps_id_status_score_and_hypothesis(make_row):
    assert shown([make_row()], 60)[0].split() == ["id", "status", "score", "relative", "hypothesis"]


def test_markup_in_a_hypothesis_is_shown_as_it_was_written(make_row):
    (_, line) = shown([make_row(hypothesis="drop [mask] load [/=]")], 160)
    assert "drop [mask] load [/=]" in line
