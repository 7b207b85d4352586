"""The expected rates of both keep rules on a calibrated device."""

from __future__ import annotations

import math
import random

import pytest
from aa_rounds import CPU, QUIET, aa_rounds

from mjolnir.core.aa_bootstrap import expected_rates
from mjolnir.core.aa_noise import measure_noise
from mjolnir.core.share import read_share, wilson_share


def rates(cv, *, runs=12, min_gain=0.05, worker_pairs=3, seed=1, no_ops=400, changes=200, **how):
    noise = measure_noise(aa_rounds(runs, cv, **how))
    return expected_rates(
        noise,
        min_gain=min_gain,
        worker_pairs=worker_pairs,
        rng=random.Random(seed),
        no_ops=no_ops,
        changes=changes,
    )


def test_both_rules_have_a_rate_for_no_ops_and_for_each_gain():
    found = rates(QUIET)
    assert list(found) == ["confirmed", "seed"]
    for rule in found.values():
        assert list(rule.power) == [0.02, 0.03, 0.05, 0.1]
        assert (rule.no_op.trials, rule.power[0.02].trials) == (400, 200)


def test_twice_the_least_gain_is_told_once():
    assert list(rates(QUIET, min_gain=0.025)["seed"].power) == [0.02, 0.03, 0.05]
    assert list(rates(QUIET, min_gain=0.0)["seed"].power) == [0.02, 0.03, 0.05]


def test_on_a_quiet_device_nothing_passes_by_luck_and_a_true_gain_is_kept():
    found = rates(QUIET, min_gain=0.02)
    for rule in found.values():
        assert rule.no_op.value == 0
        assert rule.power[0.05].value == 1
    assert found["confirmed"].power[0.03].value > 0.9


def test_a_gain_below_the_least_gain_is_rightly_not_kept():
    found = rates(CPU)["confirmed"].power
    assert found[0.02].value < 0.2
    assert found[0.1].value > 0.9


def test_more_noise_lets_more_no_ops_through_the_seed_rule():
    noisy = {n: 4 * x for n, x in CPU.items()}
    assert rates(noisy)["seed"].no_op.low > rates(CPU)["seed"].no_op.high


def test_the_confirmation_keeps_out_what_the_seed_rule_lets_in():
    noisy = {n: 2 * x for n, x in CPU.items()}
    found = rates(noisy, min_gain=0.02, no_ops=1000)
    assert found["seed"].no_op.low > found["confirmed"].no_op.high


def test_few_runs_give_no_false_certainty():
    """The same scatter, known from 2 rounds and from 500: none of them alone reaches the least gain."""
    rounds = [{n: (math.exp(sign * 0.008), 1.0) for n in CPU} for sign in (1, -1)]
    few, many = (measure_noise(rounds * times) for times in (1, 250))
    assert few.sigma == pytest.approx(many.sigma)
    few_no_op, many_no_op = (
        expected_rates(noise, min_gain=0.02, worker_pairs=1, rng=random.Random(1), no_ops=2000, changes=1)["seed"].no_op
        for noise in (few, many)
    )
    assert few_no_op.low > many_no_op.high


def test_the_same_rounds_and_seed_give_the_same_rates():
    assert rates(CPU, no_ops=100, changes=50) == rates(CPU, no_ops=100, changes=50)


def test_without_any_noise_the_rates_are_0_and_1():
    noise = measure_noise([{128: (1.0, 1.0), 1024: (2.0, 2.0)}] * 3)
    for rule in expected_rates(noise, min_gain=0.02, worker_pairs=1, rng=random.Random(1)).values():
        assert (rule.no_op.value, rule.no_op.trials) == (0, 8000)
        assert rule.power[0.03].value == 1


@pytest.mark.parametrize(
    ("hits", "trials", "low", "high"),
    [(0, 1000, 0.0, 0.00383), (1000, 1000, 0.99617, 1.0), (1, 10, 0.01788, 0.40415), (50, 100, 0.40383, 0.59617)],
)
def test_a_share_has_wilsons_interval(hits, trials, low, high):
    share = wilson_share(hits, trials)
    assert (share.low, share.high) == (pytest.approx(low, abs=1e-5), pytest.approx(high, abs=1e-5))
    assert share.low <= share.value <= share.high
    assert read_share(share.as_json()) == share


@pytest.mark.parametrize("values", [None, {}, {"hits": 1}, {"hits": 2, "trials": 1}, {"hits": True, "trials": 3}])
def test_what_is_no_share_is_an_error(values):
    with pytest.raises(ValueError, match="share"):
        read_share(values)
