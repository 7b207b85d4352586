"""Facts beside the ledger in one line each, whatever stands in their files."""

from __future__ import annotations

import pytest

from mjolnir.render.fact_line import calibration_line, claim_text, estimate_text, recheck_line

CALIBRATION = {
    "utc": "2026-03-01T00:05:00+00:00",
    "sigma": {"128": 0.0123, "4096": 0.0311},
    "se_floor": 0.0042,
    "rates": {
        "confirmed": {"no_op": {"value": 0.0, "low": 0.0, "high": 0.00048}},
        "seed": {"no_op": {"value": 0.052, "low": 0.04, "high": 0.06}},
    },
}
RECHECK = {
    "ts": "2026-03-01T00:05:00+00:00",
    "champion": {"id": 7},
    "speedup": {"value": 1.31, "low": 1.295, "high": 1.33},
    "score": {"value": 1.04, "low": 1.03, "high": 1.05},
    "claimed": {"speedup": 1.309, "low": 1.3, "high": 1.32},
}


def test_a_calibration_in_one_line():
    assert calibration_line(CALIBRATION) == (
        "noise 1.2 to 3.1 % an L; least standard error 0.42 %; a no-op passes in fewer than 0.1 % of tries "
        "(03-01 00:05)"
    )
    assert "a no-op passes in 5.2 % of tries" in calibration_line(CALIBRATION, rule="seed")


def test_a_recheck_in_one_line():
    assert recheck_line(RECHECK, champion_id=7) == (
        "1.310x (95 %: 1.295 to 1.330) of the baseline, 1.040x (95 %: 1.030 to 1.050) of the reference; "
        "the ledger claims 1.309x (95 %: 1.300 to 1.320) (03-01 00:05)"
    )


def test_a_recheck_of_an_earlier_champion_says_so():
    assert "; of #7, before the champion #9 (" in recheck_line(RECHECK, champion_id=9)


def test_a_claim_without_an_interval_is_the_ratio_alone():
    assert claim_text({"speedup": 1.309, "low": None, "high": None}) == "1.309x"
    assert claim_text({"speedup": None}) == claim_text(None) == ""


def test_without_a_baseline_of_its_own_only_the_score_is_told():
    line = recheck_line(RECHECK | {"speedup": None}, champion_id=7)
    assert line == "1.040x (95 %: 1.030 to 1.050) of the reference (03-01 00:05)"


@pytest.mark.parametrize(
    "fact",
    [
        {},
        {"sigma": 3, "se_floor": "x", "rates": {"confirmed": 7}, "utc": 5},
        {"sigma": {"a": -1, "b": "x", "c": True}, "rates": {"confirmed": {"no_op": {"value": "1", "high": 2}}}},
        {"speedup": {"value": 0}, "score": {"value": "nan"}, "champion": 3, "claimed": [], "ts": "\x1b[31m[/=]\n"},
    ],
    ids=range(4),
)
def test_what_cannot_be_read_is_said_and_never_an_error(fact):
    for line in (calibration_line(fact), recheck_line(fact)):
        assert line.startswith("cannot be read")
        assert line.isprintable()
    assert estimate_text({"value": 1.0, "low": None, "high": float("inf")}) == ""
