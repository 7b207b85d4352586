"""The headline and its interval, against values worked out by hand, tables, and a simulation with a known truth."""

from __future__ import annotations

import math
import random

import pytest

from mjolnir.core.headline import estimate_ratio
from mjolnir.core.student import t_quantile_975


def rounds_of(*ratios, lengths=(128, 4096)):
    """Rounds in which "new" is faster than "old" by these ratios, at every length."""
    return [{"old": {n: 10.0 * n * ratio for n in lengths}, "new": {n: 10.0 * n for n in lengths}} for ratio in ratios]


@pytest.mark.parametrize(
    ("freedom", "wanted"),
    [(1, 12.7062), (2, 4.3027), (5, 2.5706), (20, 2.0860), (21, 2.0796), (30, 2.0423), (60, 2.0003), (99, 1.9842)],
)
def test_the_quantiles_are_those_of_the_tables(freedom, wanted):
    assert t_quantile_975(freedom) == pytest.approx(wanted, abs=1e-4)


def test_one_value_has_no_spread():
    with pytest.raises(ValueError, match="two values"):
        t_quantile_975(0)


def test_the_value_is_the_geomean_and_the_interval_is_students():
    found = estimate_ratio(rounds_of(1.2, 1.25, 1.3), slow="old", fast="new")
    logs = [math.log(x) for x in (1.2, 1.25, 1.3)]
    centre = sum(logs) / 3
    spread = math.sqrt(sum((x - centre) ** 2 for x in logs) / 2)
    assert found.value == pytest.approx(math.exp(centre))
    assert found.low == pytest.approx(math.exp(centre - 4.3027 * spread / math.sqrt(3)), rel=1e-5)
    assert found.high == pytest.approx(math.exp(centre + 4.3027 * spread / math.sqrt(3)), rel=1e-5)
    assert found.per_length == pytest.approx({128: found.value, 4096: found.value})


def test_turned_around_it_is_the_inverse():
    rounds = rounds_of(1.2, 1.3)
    one, other = estimate_ratio(rounds, slow="old", fast="new"), estimate_ratio(rounds, slow="new", fast="old")
    assert one.value * other.value == pytest.approx(1)
    assert one.low * other.high == pytest.approx(1)


def test_every_length_counts_alike_and_has_its_own_ratio():
    rounds = [{"old": {128: 2.0, 4096: 800.0}, "new": {128: 1.0, 4096: 100.0}}] * 2
    found = estimate_ratio(rounds, slow="old", fast="new")
    assert (found.value, found.low, found.high) == pytest.approx((4.0, 4.0, 4.0))
    assert found.per_length == pytest.approx({128: 2.0, 4096: 8.0})


def test_what_disturbs_a_whole_round_widens_the_interval_once_and_not_once_an_l():
    few, many = (
        estimate_ratio(rounds_of(1.1, 1.2, 1.3, lengths=lengths), slow="old", fast="new")
        for lengths in ((128,), (128, 1024, 4096, 16384))
    )
    assert (few.low, few.high) == pytest.approx((many.low, many.high))


def test_the_interval_holds_the_truth_in_about_95_of_100_rechecks():
    source = random.Random(20260301)
    hits = 0
    for _ in range(2000):
        ratios = [1.25 * math.exp(source.gauss(0, 0.02)) for _ in range(6)]
        found = estimate_ratio(rounds_of(*ratios, lengths=(128,)), slow="old", fast="new")
        hits += found.low <= 1.25 <= found.high
    assert 0.93 <= hits / 2000 <= 0.97


def test_two_intervals_agree_where_they_share_a_value():
    found = estimate_ratio(rounds_of(1.2, 1.3), slow="old", fast="new")
    assert found.covers(1.25, 1.25)
    assert found.covers(0.1, found.low)
    assert not found.covers(found.high * 1.01, 1000.0)


@pytest.mark.parametrize(
    "rounds",
    [
        [],
        rounds_of(1.2),
        [*rounds_of(1.2), *rounds_of(1.2, lengths=(128,))],
        rounds_of(1.2, 1.3, lengths=()),
        rounds_of(1.2, 0.0),
        rounds_of(1.2, math.nan),
        rounds_of(1.2, math.inf),
        [{"old": {128: 1.0}, "new": {4096: 1.0}}] * 2,
    ],
    ids=["none", "one", "other lengths", "no lengths", "zero", "nan", "inf", "not side by side"],
)
def test_rounds_that_say_nothing_are_an_error(rounds):
    with pytest.raises(ValueError, match=r"rounds|lengths|no time"):
        estimate_ratio(rounds, slow="old", fast="new")
