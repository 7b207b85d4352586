"""A calibration as people read it."""

from __future__ import annotations

import math

from mjolnir.core.aa_bootstrap import RuleRates
from mjolnir.core.aa_noise import measure_noise
from mjolnir.core.calibration import Calibration
from mjolnir.core.share import wilson_share
from mjolnir.render.calibration import calibration_lines, short_calibration_lines


def a_calibration(*, scatter=0.01, slow=1.0, **values):
    up, down = math.exp(scatter), math.exp(-scatter)
    rounds = tuple(
        {128: (up, 1.0), 4096: (slow, 1.0)} if n % 2 else {128: (down, 1.0), 4096: (1.0, slow)} for n in range(4)
    )
    rates = {
        "confirmed": RuleRates(no_op=wilson_share(4, 8000), power={0.02: wilson_share(1, 20)}),
        "seed": RuleRates(no_op=wilson_share(80, 8000), power={0.03: wilson_share(10, 20)}),
    }
    defaults = dict.fromkeys(("id", "utc", "mjolnir", "harness_hash", "config_hash", "commit", "kernel"), "x")
    defaults |= {"target": "cpu", "device": {}, "worker_pairs": 3, "min_gain": 0.05}
    return Calibration(**(defaults | values), rounds=rounds, noise=measure_noise(rounds), rates=rates)


def test_each_l_has_its_noise_and_its_two_speeds():
    lines = calibration_lines(a_calibration(slow=1.2), "confirmed")
    assert any(line.split() == ["128", "1.00", "%", "—"] for line in lines)
    assert any("1 and 1.200 times the time, in 50 % of the processes" in line for line in lines)


def test_a_rate_stands_with_its_interval_and_a_missing_one_is_a_dash():
    lines = calibration_lines(a_calibration(), "confirmed")
    (no_op,) = (line for line in lines if line.strip().startswith("no-op"))
    assert " ".join(no_op.split()) == "no-op 0.050 % (0.019 to 0.129) 1.000 % (0.804 to 1.243)"
    (gain,) = (line for line in lines if line.strip().startswith("+3 %"))
    assert " ".join(gain.split()) == "+3 % — 50.0 % (29.9 to 70.1)"


def test_the_last_line_is_of_the_rule_of_the_run():
    assert calibration_lines(a_calibration(), "confirmed")[-1] == "a no-op passes in 0.05 % of tries on this device"
    assert calibration_lines(a_calibration(), "seed")[-1] == "a no-op passes in 1.0 % of tries on this device"


def test_noise_is_called_what_it_is():
    assert not any("noisy" in line for line in calibration_lines(a_calibration(), "seed"))
    assert any(line.startswith("noisy at 128") for line in calibration_lines(a_calibration(scatter=0.1), "seed"))
    assert any(line.startswith("too noisy at 128") for line in calibration_lines(a_calibration(scatter=0.2), "seed"))


def test_words_from_elsewhere_cannot_draw_on_the_terminal():
    notes = ("race 1\x1b[2J was\nnot steady",)
    lines = calibration_lines(a_calibration(notes=notes, target="c\x1bpu"), "seed")
    assert any(line == "race 1 was not steady" for line in lines)
    assert not any("\x1b" in line or "\n" in line for line in lines)


def test_the_report_of_init_has_two_lines():
    lines = short_calibration_lines(a_calibration(slow=1.2), "confirmed")
    assert lines == [
        "noise, 4 races of the kernel against itself: 128 1.0 %, 4K 18.2 %; two speeds at 4K",
        "  a no-op passes in 0.05 % of tries on this device",
    ]
