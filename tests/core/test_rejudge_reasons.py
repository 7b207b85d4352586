"""What a row of the rule confirmed says in words, and the numbers beside its verdict, follow from its rounds."""

from __future__ import annotations

from dataclasses import replace

import pytest
from rejudge_rows import LENGTHS, TERMS, a_confirmed_row, a_row

from mjolnir.core.model import Status
from mjolnir.core.rejudge import rejudge


def told(row, champion):
    return " ".join(rejudge(row, champion, TERMS["confirmed"]))


@pytest.mark.parametrize("ratios", [[], [1.001], [1.02, 1.02], [1.3, 1.3]])
def test_another_reason_than_the_rule_gave_is_told(ratios):
    champion = a_row("confirmed")
    row = a_confirmed_row(champion, ratios, screened=1.05 if ratios else 1.005)
    assert told(row, champion) == ""
    assert "gives the reason" in told(replace(row, reason="side by side +99 %"), champion)
    assert "gives the reason" in told(replace(row, reason=row.reason + "; believe it"), champion)


def test_a_keep_may_end_with_the_rate_of_its_calibration_and_no_other_words():
    champion = a_row("confirmed")
    row = a_confirmed_row(champion, [1.3, 1.3])
    rate = "; a no-op passes in fewer than 0.1 % of tries on this device"
    assert "gives the reason" in told(replace(row, reason=row.reason + rate), champion)
    calibrated = replace(row, params={**row.params, "calibration": {"id": "a"}})
    assert told(replace(calibrated, reason=row.reason + rate), champion) == ""
    assert "gives the reason" in told(replace(calibrated, reason=row.reason + rate + " (trust it)"), champion)


def test_without_a_calibration_the_least_standard_error_is_the_rules_own():
    champion = a_row("confirmed")
    row = a_confirmed_row(champion, [1.3, 1.3])
    row.params["confirm"] = {"se_floor": 0.003, "attempt": 1}
    assert "least standard error" in told(row, champion)


def test_lengths_that_were_not_measured_are_told():
    champion = a_row()
    row = a_row(ratio=1.5, champion=champion)
    row = replace(row, params={**row.params, "lengths": [*LENGTHS, 8192]})
    assert any("has numbers of others" in text for text in rejudge(row, champion, TERMS["seed"]))


@pytest.mark.parametrize("where", ["a round", "beside the reference"])
def test_bad_times_in_a_confirmation_make_an_invalid_row(where):
    champion = a_row("confirmed")
    row = a_confirmed_row(champion, [1.3, 1.3])
    rounds = row.ab["rounds"]
    if where == "a round":
        rounds = [rounds[0], {key: [None, None] for key in rounds[1]}]
    confirm = row.confirm | {"m": None, "se": None, "t": None, "slower": [], "deep": []}
    confirm |= {"status": "invalid", "rule": "bad_numbers"}
    row = replace(
        row, ab={"rounds": rounds, "reference_us": None}, confirm=confirm,
        status=Status.INVALID, rule="bad_numbers", codes=["E_NUMBERS"], score=None, per_L={}, fi_us={}, mj_us={},
        vs_best={}, reason="bad numbers: a time of the confirmation is not finite and positive",
    )  # fmt: skip
    assert told(row, champion) == ""
    assert told(replace(row, reason="fast"), champion)
