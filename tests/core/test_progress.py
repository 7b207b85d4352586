from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mjolnir.core.model import Experiment, RowGlance, Status
from mjolnir.core.progress import (
    Step,
    baseline,
    champion,
    confirmed_gain,
    confirmed_gain_interval,
    counts_by_status,
    is_plateau,
    kept_chain,
    since_last_keep,
    staircase,
    step_gain,
    step_gains,
)


def experiment(number, status, score=None, per_length=None, **more):
    return Experiment(id=number, ts="", status=Status(status), score=score, per_L=per_length or {}, **more)


RUN = [
    experiment(1, "baseline", 1.0, {"128": 1.0, "4096": 1.0}),
    experiment(2, "discard", 1.4, {"128": 1.4, "4096": 1.4}),
    experiment(3, "keep", 1.2, {"128": 1.1, "4096": 1.21}),
    experiment(4, "crash"),
    experiment(5, "keep", 1.1, {"128": 1.32, "4096": 1.21}),
    experiment(6, "noisy", 2.0),
    experiment(7, "invalid"),
]


def test_the_champion_is_the_newest_keep_and_not_the_best_score():
    assert champion(RUN).id == 5
    assert baseline(RUN).id == 1
    assert [row.id for row in kept_chain(RUN)] == [1, 3, 5]
    assert staircase(RUN) == [Step(id=1, score=1.0), Step(id=3, score=1.2), Step(id=5, score=1.1)]


def test_before_the_baseline_there_is_no_champion_and_no_progress():
    crashed = [experiment(1, "crash")]
    assert champion(crashed) is None
    assert baseline(crashed) is None
    assert confirmed_gain(crashed) is None
    assert confirmed_gain([]) is None
    assert confirmed_gain(RUN[:1]) == 0.0


def test_the_confirmed_gain_is_the_product_of_what_each_keep_gained_over_its_champion():
    assert step_gains(RUN) == pytest.approx({3: (1.1 * 1.21) ** 0.5 - 1, 5: 1.2**0.5 - 1})
    assert confirmed_gain(RUN) == pytest.approx((1.1 * 1.21 * 1.2) ** 0.5 - 1)
    assert confirmed_gain(kept_chain(RUN)) == confirmed_gain(RUN)


def test_a_length_that_was_set_aside_counts_for_nothing():
    first = experiment(1, "baseline", 1.0, {"128": 1.0, "4096": 1.0})
    moved = experiment(2, "keep", 1.8, {"128": 3.0, "4K": 1.1}, set_aside=[128])
    assert step_gain(moved, first) == pytest.approx(0.1)


def test_rows_without_numbers_per_length_are_compared_by_score():
    assert step_gain(experiment(2, "keep", 1.1), experiment(1, "baseline", 1.0)) == pytest.approx(0.1)


@pytest.mark.parametrize("score", [None, float("nan"), 0.0])
def test_a_gain_that_cannot_be_told_is_none_and_does_not_spoil_the_product(score):
    first = experiment(1, "baseline", score)
    assert step_gain(experiment(2, "keep", 1.1), first) is None
    assert step_gain(experiment(2, "keep", 1.1, {"128": float("nan")}), RUN[0]) is None
    assert confirmed_gain([first, experiment(2, "keep", 1.1), experiment(3, "keep", 1.21)]) == pytest.approx(0.1)
    assert staircase([first]) == []


def confirmed(number, m, se=0.01, **more):
    return experiment(number, "keep", 9.0, {"128": 9.0, "4096": 9.0}, confirm={"m": m, "se": se}, **more)


def test_a_confirmed_keep_gained_what_its_confirmation_measured_and_not_what_two_scores_say():
    kept = [RUN[0], confirmed(2, math.log(1.1)), confirmed(3, math.log(1.2))]
    assert step_gains(kept) == pytest.approx({2: 0.1, 3: 0.2})
    assert confirmed_gain(kept) == pytest.approx(1.1 * 1.2 - 1)


def test_a_row_that_was_not_kept_is_compared_by_its_numbers_whatever_its_confirmation_says():
    lost = experiment(2, "discard", 1.1, {"128": 1.1, "4096": 1.1}, confirm={"m": 0.5, "se": 0.01})
    assert step_gain(lost, RUN[0]) == pytest.approx(0.1)


def test_the_errors_of_the_steps_add_in_squares():
    kept = [RUN[0], confirmed(2, math.log(1.1), 0.003), confirmed(3, math.log(1.2), 0.004)]
    low, high = confirmed_gain_interval(kept)
    assert low == pytest.approx(1.1 * 1.2 * math.exp(-1.96 * 0.005) - 1)
    assert high == pytest.approx(1.1 * 1.2 * math.exp(1.96 * 0.005) - 1)
    assert low < confirmed_gain(kept) < high
    assert confirmed_gain_interval([*kept, *RUN[5:]]) == (low, high)


@pytest.mark.parametrize("odd", [None, {}, {"m": 0.1}, {"m": 0.1, "se": 0}, {"m": math.nan, "se": 0.1}, {"m": 1e9}])
def test_one_step_of_unknown_error_leaves_the_whole_without_an_interval(odd):
    keep = experiment(3, "keep", 1.2, {"128": 1.2}, confirm=odd)
    assert confirmed_gain_interval([RUN[0], confirmed(2, 0.1), keep]) is None


def test_before_the_first_keep_there_is_no_interval():
    assert confirmed_gain_interval(RUN[:2]) is None
    assert confirmed_gain_interval([]) is None


def test_counts_name_every_status_even_at_zero():
    assert counts_by_status([RowGlance(id=1, status=Status.KEEP)]) == {
        Status.BASELINE: 0,
        Status.KEEP: 1,
        Status.DISCARD: 0,
        Status.NOISY: 0,
        Status.CRASH: 0,
        Status.INVALID: 0,
    }


def test_a_plateau_is_so_many_experiments_since_the_last_keep_whatever_became_of_them():
    assert since_last_keep(RUN) == 2
    assert is_plateau(RUN, 2)
    assert not is_plateau(RUN, 3)
    assert not is_plateau([], 1)


@given(st.lists(st.sampled_from(list(Status))))
def test_counts_add_up_and_glances_serve_as_well_as_whole_rows(statuses):
    rows = [RowGlance(id=n, status=status) for n, status in enumerate(statuses)]
    assert sum(counts_by_status(rows).values()) == len(rows)
    newest = champion(rows)
    assert since_last_keep(rows) == (len(rows) if newest is None else len(rows) - 1 - newest.id)
