"""research/ledger.tsv is a view: whatever happens to it, the next command shows the ledger again."""

from __future__ import annotations

import os

import pytest
from store_place import an_experiment

from mjolnir.core.model import Status

COLUMNS = ["id", "ts", "commit", "status", "score", "best_before", "correctness", "agent", "hypothesis", "reason"]


def cells_of(place):
    return [line.split("\t") for line in place.view.read_text(encoding="utf-8").split("\n")[:-1]]


def test_the_view_has_one_line_a_row_with_four_decimals_and_nothing_for_null(place):
    ledger = place.start()
    ledger.append(an_experiment("one", agent="me", reason="gain"))
    ledger.append(an_experiment("two", status=Status.CRASH, score=None, best_before=None, correctness=None))
    assert cells_of(place) == [
        COLUMNS,
        ["1", "2025-10-11T22:00:00+00:00", "0123abc", "discard", "1.2346", "1.2000", "pass", "me", "one", "gain"],
        ["2", "2025-10-11T22:00:00+00:00", "0123abc", "crash", "", "", "", "", "two", ""],
    ]


@pytest.mark.parametrize(
    "text", ["a\tb", "a\nb", "a\r\nb", "a\x00b", "a\x1b[2Jb", "a\u2028b", "a\x85b", "a\x0bb", "\udcff", "löß"]
)
def test_no_text_can_break_the_table(place, text):
    ledger = place.start()
    ledger.append(an_experiment(text, agent=text, reason=text))
    ledger.append(an_experiment("after"))
    for _ in range(2):
        table = cells_of(place)
        assert [len(row) for row in table] == [10, 10, 10]
        assert all(cell.isprintable() for row in table for cell in row)
        assert len(place.view.read_text(encoding="utf-8").splitlines()) == 3
        place.view.unlink()
        place.open()


@pytest.mark.parametrize(
    "harm", ["removed", "older", "edited", "cut", "longer", "a link", "edited, size and time kept"]
)
def test_the_view_is_rebuilt_when_it_is_missing_older_or_different(place, tmp_path, harm):
    place.fill(3)
    good, info = place.view.read_bytes(), place.view.stat()
    if harm == "removed":
        place.view.unlink()
    elif harm == "older":
        place.view.write_bytes(b"".join(good.splitlines(keepends=True)[:2]))
        os.utime(place.view, (1, 1))
    elif harm == "cut":
        os.truncate(place.view, 100)
    elif harm == "longer":
        place.view.write_bytes(good + b"4\tforged\n")
    elif harm == "a link":
        (tmp_path / "target").write_text("mine")
        place.view.unlink()
        place.view.symlink_to(tmp_path / "target")
    else:
        place.view.write_bytes(good.replace(b"discard", b"keeping"))
        if "kept" in harm:
            os.utime(place.view, ns=(info.st_atime_ns, info.st_mtime_ns))
    place.open()
    assert place.view.read_bytes() == good
    assert not place.view.is_symlink()
    if harm == "a link":
        assert (tmp_path / "target").read_text() == "mine"


def test_an_append_after_harm_rebuilds_the_whole_view(place):
    place.fill(2)
    ledger = place.open()
    place.view.unlink()
    ledger.append(an_experiment("three"))
    assert [row[0] for row in cells_of(place)] == ["id", "1", "2", "3"]


def test_a_view_of_an_earlier_run_is_replaced_by_the_first_row(place):
    (place.root / "research").mkdir()
    place.view.write_text("old\n")
    place.fill(1)
    assert [row[0] for row in cells_of(place)] == ["id", "1"]


def test_a_view_that_cannot_be_written_costs_no_row(place):
    place.fill(1)
    place.view.unlink()
    place.view.mkdir()
    ledger = place.open()
    assert ledger.append(an_experiment("two")).id == 2
    assert any("ledger.tsv" in notice for notice in ledger.notices)
    assert place.open().count() == 2
