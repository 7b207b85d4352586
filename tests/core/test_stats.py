from __future__ import annotations

import math
import random
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mjolnir.core.stats import cv, geomean, mean, median, stdev, trimmed_geomean, trimmed_mean

positive = st.lists(st.floats(1e-300, 1e300), min_size=1, max_size=20)
finite = st.lists(st.floats(-1e9, 1e9), min_size=2, max_size=20)


@pytest.mark.parametrize("function", [mean, median, geomean, stdev, cv, trimmed_mean, trimmed_geomean])
def test_no_values_is_an_error_and_never_a_guess(function):
    with pytest.raises(ValueError, match=r"no values|two values"):
        function([])


@given(finite)
def test_means_and_spreads_agree_with_the_standard_library(xs):
    assert mean(xs) == pytest.approx(statistics.fmean(xs), abs=1e-6)
    assert median(xs) == pytest.approx(statistics.median(xs), abs=1e-6)
    assert stdev(xs) == pytest.approx(statistics.stdev(xs), rel=1e-6, abs=1e-6)


@given(positive, st.randoms())
def test_a_geomean_ignores_order_and_lies_between_its_extremes(xs, order):
    first = geomean(xs)
    order.shuffle(xs)
    assert geomean(xs) == first
    assert min(xs) <= first <= max(xs)


@given(st.floats(min_value=5e-324, max_value=1.7976931348623157e308), st.integers(1, 9))
def test_the_geomean_of_equal_values_is_that_value(x, count):
    assert geomean([x] * count) == x


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf])
def test_a_geomean_of_anything_but_positive_numbers_is_an_error(bad):
    with pytest.raises(ValueError, match="finite and positive"):
        geomean([1.0, bad])


def test_a_trimmed_mean_leaves_out_the_disturbed_ends():
    xs = [1.0, 2.0, 3.0, 900.0]
    random.Random(1).shuffle(xs)
    assert trimmed_mean(xs, part=0.25) == 2.5
    assert trimmed_mean(xs, part=0.0) == mean(xs)
    assert trimmed_mean([1.0, 900.0], part=0.25) == 450.5
    with pytest.raises(ValueError, match="part"):
        trimmed_mean(xs, part=0.5)


def test_a_trimmed_geomean_of_ratios_ignores_one_outlier_on_each_side():
    assert trimmed_geomean([0.01, 2.0, 2.0, 50.0]) == pytest.approx(2.0)


def test_cv_is_the_spread_as_a_ratio_of_the_mean():
    assert cv([98.0, 100.0, 102.0]) == pytest.approx(0.02)
    with pytest.raises(ValueError, match="zero"):
        cv([-1.0, 1.0])
