"""What rounds of one program against itself say about a device."""

from __future__ import annotations

import math

import pytest
from aa_rounds import CPU, QUIET, aa_rounds

from mjolnir.core.aa_noise import measure_noise
from mjolnir.core.modes import find_modes


def test_sigma_is_the_root_mean_square_about_zero():
    up, down = math.exp(0.02), math.exp(-0.04)
    noise = measure_noise([{128: (up, 1.0)}, {128: (down, 1.0)}])
    assert noise.sigma[128] == pytest.approx(math.sqrt((0.02**2 + 0.04**2) / 2))
    assert noise.sd_m == pytest.approx(noise.sigma[128]), "one L alone is the mean over L"
    assert noise.se_floor == pytest.approx(noise.sd_m / math.sqrt(2))


def test_a_side_that_is_always_the_slower_one_is_noise_too():
    noise = measure_noise([{128: (1.05, 1.0)}] * 3)
    assert noise.sigma[128] == pytest.approx(math.log(1.05)), "a spread about the mean would be 0"


def test_many_rounds_find_the_noise_that_was_put_in():
    noise = measure_noise(aa_rounds(2000, CPU))
    assert noise.sigma == {n: pytest.approx(x, rel=0.06) for n, x in CPU.items()}
    assert noise.se_floor == pytest.approx(math.sqrt(sum(x * x for x in CPU.values())) / 4 / math.sqrt(2), rel=0.06)
    assert (noise.bimodal, noise.noisy_lengths, noise.too_noisy_lengths) == ({}, (), ())


def test_a_quiet_device_has_the_least_standard_error():
    assert measure_noise(aa_rounds(50, QUIET)).se_floor == 0.002
    assert measure_noise([{128: (1.0, 1.0)}, {128: (1.0, 1.0)}]).se_floor == 0.002


def test_an_l_above_5_percent_is_noisy_and_nothing_is_left_out_of_the_floor():
    rounds = [{n: (math.exp(s * x), 1.0) for n, x in enumerate((0.0, 0.0, 0.0, 0.0, 0.12), 1)} for s in (1, -1)]
    noise = measure_noise(rounds)
    assert noise.noisy_lengths == (5,)
    assert noise.sd_m == 0, "the trimmed mean leaves the one L out"
    assert noise.se_floor == pytest.approx(0.12 / 5 / math.sqrt(2))


def test_an_l_above_15_percent_is_too_noisy():
    noise = measure_noise([{128: (1.2, 1.0), 1024: (1.01, 1.0)}] * 2)
    assert (noise.noisy_lengths, noise.too_noisy_lengths) == ((), (128,))


@pytest.mark.parametrize(
    "rounds",
    [
        [],
        [{128: (1.0, 1.0)}],
        [{}, {}],
        [{128: (1.0, 1.0)}, {1024: (1.0, 1.0)}],
        [{128: (1.0, 1.0)}, {128: (1.0, 0.0)}],
        [{128: (1.0, 1.0)}, {128: (math.nan, 1.0)}],
        [{128: (1.0, 1.0)}, {128: ("1", 1.0)}],
    ],
    ids=str,
)
def test_what_is_no_set_of_rounds_is_an_error(rounds):
    with pytest.raises(ValueError, match=r"round|time"):
        measure_noise(rounds)


@pytest.mark.parametrize("drift", [0.0, 0.04])
def test_two_speeds_are_found_with_and_without_a_drift_of_the_device(drift):
    noise = measure_noise(aa_rounds(24, QUIET, two_speeds={16384: 1.163}, drift=drift))
    assert list(noise.bimodal) == [16384]
    modes = noise.bimodal[16384]
    assert (modes.fast, modes.slow) == (1.0, pytest.approx(1.163, rel=0.02))
    if drift == 0:
        assert modes.slow_share == pytest.approx(0.5, abs=0.25)


def test_one_speed_is_hardly_ever_called_two():
    called = [measure_noise(aa_rounds(12, CPU, seed=seed)).bimodal for seed in range(100)]
    assert sum(len(found) for found in called) <= 4, "of 400"


def test_fewer_than_6_times_never_show_two_speeds():
    assert find_modes([(1.0, 1.2), (1.2, 1.0)]) is None
    assert find_modes([(1.0, 1.2), (1.201, 1.001), (1.2, 1.0)]) is not None


def test_a_device_that_changed_its_clock_between_rounds_is_no_kernel_with_two_speeds():
    rounds = [(1.0, 1.001), (1.001, 1.0), (1.0, 1.001), (1.2, 1.201), (1.201, 1.2), (1.2, 1.201)]
    assert find_modes(rounds) is None


def test_two_speeds_less_than_a_percent_apart_are_no_finding():
    assert find_modes([(1.0, 1.005), (1.005, 1.0), (1.0, 1.005), (1.005, 1.005)]) is None
