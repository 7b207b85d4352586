"""Of a long ledger only the champions are decoded whole, and they are found whatever lies between them."""

from __future__ import annotations

import json

import pytest

from mjolnir.errors import Refused
from mjolnir.loop.kept_rows import read_kept
from mjolnir.store.codec import decode_glance, decode_glances
from mjolnir.store.row_file import RowFile

STATUSES = ["baseline", *["discard"] * 400, "keep", "crash", "keep", *["discard"] * 300]


def line_of(row_id, status, **values):
    """A row of about two kilobytes, so that the file has several blocks."""
    return json.dumps({"id": row_id, "ts": "", "status": status, "hypothesis": "x" * 2000} | values)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "ledger.jsonl"
    path.write_text("".join(f"{line_of(n, status)}\n" for n, status in enumerate(STATUSES, 1)))
    return RowFile(path=path, shown="ledger.jsonl")


def read(file):
    pairs = read_kept(file, file.decode_all(decode_glances, decode_glance))
    assert all(json.loads(line)["id"] == row.id for row, line in pairs)
    return [(row.id, row.status.value) for row, _ in pairs]


def test_every_champion_is_found_in_its_block(file):
    assert read(file) == [(1, "baseline"), (402, "keep"), (404, "keep")]


def test_blank_lines_move_no_champion(file):
    lines = file.path.read_text().splitlines()
    file.path.write_text("\n".join([lines[0], "", "  ", *lines[1:]]) + "\n\n")
    assert read(file) == [(1, "baseline"), (402, "keep"), (404, "keep")]


def test_a_row_that_is_appended_meanwhile_moves_no_champion(file):
    glances = file.decode_all(decode_glances, decode_glance)
    with file.path.open("a") as opened:
        opened.write(f"{line_of(900, 'keep')}\n")
    assert [row.id for row, _ in read_kept(file, glances)] == [1, 402, 404]


def test_a_champion_that_cannot_be_read_is_named_by_its_line(file):
    lines = file.path.read_text().splitlines()
    lines[401] = line_of(402, "keep", per_L=7)
    file.path.write_text("\n".join(lines) + "\n")
    with pytest.raises(Refused, match=r"ledger\.jsonl:402 is not a row"):
        read(file)


def test_without_a_champion_nothing_is_read(tmp_path):
    assert read(RowFile(path=tmp_path / "none.jsonl", shown="none")) == []
