"""A calibration as it is stored, read and said."""

from __future__ import annotations

import json

import pytest
from aa_rounds import CPU, aa_rounds

from mjolnir.core.aa_bootstrap import RuleRates
from mjolnir.core.aa_noise import measure_noise
from mjolnir.core.calibration import Calibration, as_fact, no_op_sentence, read_fact, require_runs
from mjolnir.core.share import wilson_share


def a_calibration(*, no_ops=0, trials=8000, rounds=None):
    rounds = tuple(rounds or aa_rounds(12, CPU, two_speeds={4096: 1.2}))
    rates = RuleRates(no_op=wilson_share(no_ops, trials), power={0.02: wilson_share(1, 10), 0.1: wilson_share(9, 10)})
    return Calibration(
        id="20251011T220000-000001",
        utc="2025-10-11T22:00:00+00:00",
        mjolnir="0.1.0",
        harness_hash="h",
        config_hash="c",
        target="cpu",
        device={"name": "a CPU", "tools": {"numpy": "2"}},
        commit="0123abc",
        kernel="p",
        worker_pairs=3,
        min_gain=0.05,
        rounds=rounds,
        noise=measure_noise(rounds),
        rates={"confirmed": rates, "seed": RuleRates(no_op=wilson_share(80, 8000), power={})},
        notes=("race 2 was not steady",),
    )


def test_what_is_stored_comes_back_as_it_was():
    calibration = a_calibration()
    assert read_fact(json.loads(json.dumps(as_fact(calibration)))) == calibration


def test_the_stored_object_says_everything_that_a_reader_needs():
    calibration = a_calibration()
    fact = as_fact(calibration)
    assert fact["schema"] == "mjolnir.calibrate/1"
    assert (fact["runs"], fact["lengths"]) == (12, [128, 1024, 4096, 16384])
    assert fact["rounds"][0]["128"] == list(calibration.rounds[0][128])
    assert fact["sigma"]["128"] == calibration.noise.sigma[128]
    assert fact["bimodal"]["4096"]["slow"] == pytest.approx(1.2, rel=0.05)
    assert fact["noisy_lengths"] == [4096]
    assert fact["se_floor"] == calibration.se_floor
    assert set(fact["rates"]["confirmed"]["no_op"]) == {"value", "low", "high", "hits", "trials"}
    assert list(fact["rates"]["confirmed"]["power"]) == ["0.02", "0.1"]


def test_the_floor_comes_from_the_raw_times_and_not_from_what_stands_beside_them():
    calibration = a_calibration()
    assert read_fact(as_fact(calibration) | {"se_floor": 0.0, "sigma": {}}).se_floor == calibration.se_floor


@pytest.mark.parametrize(
    "change",
    [
        {"rounds": None},
        {"rounds": [1, 2]},
        {"rounds": [{"128": [1.0]}] * 2},
        {"rounds": [{"128": [1.0, 1.0]}]},
        {"rounds": [{"128": [1.0, -1.0]}] * 2},
        {"rounds": [{"nothing": [1.0, 1.0]}] * 2},
        {"id": None},
        {"device": "a CPU"},
        {"worker_pairs": 0},
        {"worker_pairs": True},
        {"min_gain": "much"},
        {"rates": []},
        {"rates": {"seed": 1}},
        {"rates": {"seed": {"no_op": {}, "power": {}}}},
        {"notes": None},
    ],
    ids=str,
)
def test_what_is_no_calibration_is_an_error(change):
    with pytest.raises(ValueError, match=r"\w"):
        read_fact(as_fact(a_calibration()) | change)


@pytest.mark.parametrize(
    ("no_ops", "trials", "words"),
    [
        (8, 8000, "in 0.1 % of tries"),
        (1, 8000, "in 0.01 % of tries"),
        (410, 8000, "in 5.1 % of tries"),
        (0, 8000, "in fewer than 0.1 % of tries"),
        (0, 1000, "in fewer than 0.4 % of tries"),
    ],
)
def test_how_often_a_no_op_passes_is_said_as_a_rate_of_this_device(no_ops, trials, words):
    said = no_op_sentence(a_calibration(no_ops=no_ops, trials=trials), "confirmed")
    assert said == f"a no-op passes {words} on this device"


def test_each_rule_has_its_own_rate():
    assert no_op_sentence(a_calibration(), "seed") == "a no-op passes in 1.0 % of tries on this device"


@pytest.mark.parametrize("runs", [-1, 0, 1, 1001])
def test_a_number_of_runs_that_makes_no_sense_is_an_error(runs):
    with pytest.raises(ValueError, match=f"{runs} runs"):
        require_runs(runs, 1000)
