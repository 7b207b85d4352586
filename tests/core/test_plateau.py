"""When it is said that the last gains are inside noise, and when not."""

from __future__ import annotations

import math

import pytest

from mjolnir.core.model import Experiment, Status
from mjolnir.core.plateau import gain_over_champion, is_inside_noise, last_gains, plateau_sentence, screening_noise


def row(status="discard", gain=None, **values):
    vs_best = {} if gain is None else {"128": 1 + gain, "4096": 1 + gain}
    return Experiment(id=1, ts="", status=Status(status), vs_best=vs_best, **values)


def test_the_sentence_names_how_many_how_far_and_which_noise():
    rows = [row("keep"), row(gain=-0.031), row(gain=0.009), row(gain=0.0)]
    assert plateau_sentence(rows, 3, 0.019) == (
        "plateau: the last 3 experiments gained between -3.1 % and +0.9 %, inside the noise of this device (1.9 %)"
    )


def test_without_a_calibration_it_does_not_speak_of_this_devices_noise():
    said = plateau_sentence([row(gain=0.01), row(gain=0.02)], 2, 0.05, is_calibrated=False)
    assert said == (
        "plateau: the last 2 experiments gained between +1.0 % and +2.0 %, none above what the rule asks for (5.0 %)"
    )


@pytest.mark.parametrize(
    "rows",
    [
        [],
        [row(gain=0.0)] * 2,
        [row(gain=0.0), row(gain=0.03), row(gain=0.0)],
        [row(gain=0.0), row("keep", gain=0.0), row(gain=0.0), row(gain=0.0)],
        [row("baseline"), row(gain=0.0), row(gain=0.0)],
        [row("crash"), row("noisy", gain=0.0), row("invalid"), row()],
    ],
    ids=["no rows", "too few", "one beyond noise", "a keep among them", "baseline", "nothing measured"],
)
def test_it_says_nothing_when(rows):
    assert plateau_sentence(rows, 3, 0.02) == ""


def test_without_a_plateau_in_the_configuration_nothing_is_said():
    assert plateau_sentence([row(gain=0.0)], None, 0.02) == ""
    assert plateau_sentence([row(gain=0.0)], 0, 0.02) == ""


def test_crashes_and_rows_that_were_not_trusted_are_passed_over():
    rows = [row(gain=0.5), row(gain=0.01), row("crash"), row("noisy", gain=0.3), row(gain=-0.02), row("invalid")]
    assert last_gains(rows, 2) == pytest.approx((0.01, -0.02))


def test_a_loss_is_no_gain_however_large():
    assert is_inside_noise([-0.5, 0.01], 0.02)
    assert not is_inside_noise([-0.5, 0.03], 0.02)
    assert not is_inside_noise([], 0.02)


def test_the_confirmation_says_more_than_the_screening_run_and_that_more_than_the_seed_rules_ratios():
    assert gain_over_champion(row(gain=0.04)) == pytest.approx(0.04)
    assert gain_over_champion(row(gain=0.04, screen={"gain": 0.03})) == 0.03
    assert gain_over_champion(row(gain=0.04, screen={"gain": 0.03}, confirm={"m": 0.001})) == pytest.approx(
        math.expm1(0.001)
    )


def test_a_length_that_was_set_aside_counts_for_nothing():
    assert gain_over_champion(
        Experiment(id=1, ts="", status=Status.DISCARD, vs_best={"128": 3.0, "4K": 1.1}, set_aside=[128])
    ) == pytest.approx(0.1)


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"screen": {"gain": None}},
        {"screen": {"gain": math.nan}},
        {"confirm": {"m": "x"}},
        {"confirm": {"m": 1e9}},
        {"vs_best": {"x": 1.0}},
    ],
    ids=str,
)
def test_numbers_that_cannot_be_read_are_no_gain(values):
    assert gain_over_champion(Experiment(id=1, ts="", status=Status.DISCARD, **values)) is None


def test_the_noise_of_a_screening_run_comes_from_the_calibration():
    fact = {"sd_m": 0.03, "worker_pairs": 3, "se_floor": 0.021}
    assert screening_noise(fact) == pytest.approx(math.expm1(2 * 0.03 * math.sqrt(2 / 3)))
    assert screening_noise(fact | {"sd_m": 0.0, "se_floor": 0.002}) == pytest.approx(math.expm1(0.004))


@pytest.mark.parametrize("fact", [None, {}, {"sd_m": 0.03, "worker_pairs": 0}, {"sd_m": 9, "worker_pairs": "3"}])
def test_a_calibration_that_cannot_be_read_has_no_noise(fact):
    assert screening_noise(fact) is None
