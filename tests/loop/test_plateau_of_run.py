"""How far back a run is read to say whether its last gains are inside noise."""

from __future__ import annotations

import json

import pytest

from mjolnir.core.model import Experiment, Status
from mjolnir.loop.plateau import MAX_LOOK_BACK_ROWS, read_last_scored


class Book:
    """A double of a ledger: a list of rows, and how many were asked for."""

    def __init__(self, *statuses):
        self.asked = None
        self.rows = [
            Experiment(id=n, ts="", status=Status(status), score=1.0 if status in ("discard", "keep") else None)
            for n, status in enumerate(statuses, 1)
        ]

    def tail(self, count):
        self.asked = count
        return self.rows[-count:]


@pytest.mark.parametrize(
    ("statuses", "wanted"),
    [
        (["keep", "discard", "discard"], [2, 3]),
        (["discard", "discard", "crash", "discard", "crash"], [2, 3, 4, 5]),
        (["discard", "keep", "discard"], []),
        (["baseline", "crash"], []),
        ([], []),
    ],
    ids=json.dumps,
)
def test_rows_are_read_down_to_the_one_with_which_enough_are_measured(statuses, wanted):
    book = Book(*statuses)
    assert [row.id for row in read_last_scored(book, book.rows, 2)] == wanted


def test_where_a_keep_is_near_no_row_is_decoded():
    book = Book("discard", "discard", "keep", "discard")
    read_last_scored(book, book.rows, 2)
    assert book.asked is None


def test_a_long_run_of_crashes_is_not_read_through():
    book = Book("discard", "discard", *["crash"] * MAX_LOOK_BACK_ROWS)
    assert read_last_scored(book, book.rows, 2) == []
    assert book.asked is None
