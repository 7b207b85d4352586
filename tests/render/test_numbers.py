"""Figures as people read them."""

from __future__ import annotations

import math

import pytest

from mjolnir.core.model import Status
from mjolnir.render.number import (
    gain_text,
    relative_per_length,
    row_relative,
    score_text,
    step_text,
    times_text,
    us_text,
    when_text,
)


@pytest.mark.parametrize(
    ("shown", "wanted"),
    [
        (score_text(1.04119), "1.0412"),
        (score_text(None), "—"),
        (score_text(float("nan")), "—"),
        (times_text(0.7406), "0.741x"),
        (gain_text(1.031), "+3.1 %"),
        (gain_text(0.962), "-3.8 %"),
        (step_text(1.5), "+50.0 %"),
        (step_text(5.6), "5.60x"),
        (us_text(0.95), "0.9500"),
        (us_text(13.18), "13.18"),
        (us_text(2047.3), "2,047"),
        (us_text(None), "—"),
        (when_text("2026-03-01T00:05:00+00:00"), "03-01 00:05"),
        (when_text(""), "—"),
    ],
)
def test_a_figure_reads_as_a_person_would_write_it(shown, wanted):
    assert shown == wanted


def test_relative_leaves_out_what_was_set_aside(make_row):
    row = make_row(vs_best={"128": 1.1, "4096": 9.0}, set_aside=[4096])
    assert row_relative(row) == pytest.approx(1.1)


def test_relative_is_unknown_where_nothing_was_compared(make_row):
    assert row_relative(make_row(vs_best={})) is None
    assert row_relative(make_row(vs_best={"128": float("nan"), "no length": 1.0})) is None


def test_a_keep_that_ran_beside_its_champion_shows_that_comparison(make_row):
    rounds = [{"128": [12.0, 10.0], "4096": [30.0, 20.0]}, {"128": [12.0, 10.0], "4096": [30.0, 20.0]}]
    row = make_row(status=Status.KEEP, vs_best={"128": 1.0, "4096": 1.0}, ab={"rounds": rounds}, confirm={"m": 0.3})
    assert row_relative(row) == pytest.approx(math.exp(0.3))
    assert relative_per_length(row) == pytest.approx({128: 1.2, 4096: 1.5})


@pytest.mark.parametrize("ab", [None, {}, {"rounds": "no"}, {"rounds": [3, {"128": 7, "x": [1, 2], "4096": ["a", 0]}]}])
def test_rounds_that_make_no_sense_leave_what_the_row_says(make_row, ab):
    row = make_row(status=Status.KEEP, vs_best={"128": 1.1}, ab=ab)
    assert relative_per_length(row) == {128: 1.1}
