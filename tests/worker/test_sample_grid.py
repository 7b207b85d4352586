"""Which programs of a grid are run to count bytes."""

import itertools

import pytest

from mjolnir.worker.kv_traffic import MAX_PROGRAMS, sample_grid, spread_order


def test_the_longest_axis_is_run_and_of_the_others_the_last():
    along, others = sample_grid((4, 10, 1))
    assert sorted(along) == [(0, y, 0) for y in range(10)]
    assert others == [(3, 0, 0)]


def test_a_grid_of_one_program_is_that_program():
    assert sample_grid((1, 1, 1)) == ([(0, 0, 0)], [])


@pytest.mark.parametrize("extent", [1, 2, 3, 10, 66, 85, 512])
def test_an_axis_is_run_in_full(extent):
    assert sorted(spread_order(extent)) == list(range(extent))


@pytest.mark.parametrize("extent", [513, 1000, 65535])
def test_a_long_axis_is_begun_at_both_ends_and_bounded(extent):
    along, _ = sample_grid((extent, 1, 1))
    assert along[:2] == [(0, 0, 0), (extent - 1, 0, 0)]
    assert len(set(along)) == len(along) <= MAX_PROGRAMS


@pytest.mark.parametrize("extent", [40, 85, 400])
def test_every_beginning_of_the_order_is_spread_over_the_axis(extent):
    first = sorted(spread_order(extent)[:10])
    gaps = [b - a for a, b in itertools.pairwise(first)]
    assert max(gaps) <= extent / 3
