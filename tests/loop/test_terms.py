"""Options of `evaluate` tighten the frozen configuration; whatever is laxer or other is refused."""

from __future__ import annotations

import math

import pytest

from mjolnir.config import parse_config
from mjolnir.errors import Refused, UsageFault
from mjolnir.loop.terms import Wishes, settle_terms

CONFIG = parse_config("[run]\nmin_gain = 0.02\n[targets.cpu]\nlengths = [128, 1024, 4096]\nmin_gain = 0.05\n")


def terms(**wishes):
    return settle_terms(CONFIG, "cpu", Wishes(**wishes), usual_iters=40)


def test_without_options_the_frozen_configuration_holds():
    found = terms()
    assert (found.min_gain, found.lengths, found.required, found.iters) == (
        0.05,
        (128, 1024, 4096),
        (128, 1024, 4096),
        None,
    )


def test_a_target_may_ask_for_more_gain_than_the_run():
    assert terms(min_gain=0.05).min_gain == 0.05
    with pytest.raises(Refused, match="laxer"):
        terms(min_gain=0.02)


def test_stricter_options_are_taken():
    found = terms(min_gain=0.1, iters=40, lengths="4K 128")
    assert (found.min_gain, found.iters, found.lengths) == (0.1, 40, (128, 4096))
    assert found.required == (128, 1024, 4096), "a subset is measured, but the verdict still asks for all"


@pytest.mark.parametrize(
    "wishes",
    [{"min_gain": 0.049}, {"lengths": "256"}, {"lengths": "128 8K"}, {"target": "thor"}, {"iters": 39}],
    ids=str,
)
def test_a_laxer_or_other_option_is_refused_as_configuration(wishes):
    with pytest.raises(Refused) as refusal:
        terms(**wishes)
    assert refusal.value.code == "E_CONFIG"
    assert refusal.value.exit_code == 4


def test_the_target_of_the_run_may_be_named():
    assert terms(target="cpu").target == "cpu"
    assert terms(target="auto").target == "cpu"


def test_a_configured_gate_cannot_be_switched_off():
    gated = parse_config('[gate]\nmetrics_url = "http://localhost:1/metrics"\n')
    with pytest.raises(Refused, match="--no-gate"):
        settle_terms(gated, "cpu", Wishes(gate=False))
    assert terms(gate=False).gate is False, "without one there is only the target's own wait"


@pytest.mark.parametrize(
    "wishes",
    [
        {"min_gain": math.nan},
        {"min_gain": -0.1},
        {"min_gain": 2.0},
        {"lengths": "many"},
        {"lengths": " "},
        {"iters": 0},
    ],
    ids=str,
)
def test_a_value_without_sense_is_wrong_use_of_the_command_line(wishes):
    with pytest.raises(UsageFault):
        terms(**wishes)
