"""A recheck told to people."""

from __future__ import annotations

import pytest

from mjolnir.render.recheck import recheck_block

ESTIMATE = {"value": 1.31, "low": 1.295, "high": 1.33, "per_L": {"128": 1.3, "4096": 1.32}}
ANSWER = {
    "id": "20260301T000500-000001",
    "rounds": 6,
    "baseline": {"id": 1},
    "champion": {"id": 7},
    "speedup": ESTIMATE,
    "score": ESTIMATE,
    "baseline_score": ESTIMATE,
    "claimed": {"speedup": 1.5, "low": 1.45, "high": 1.55, "score": 1.51, "baseline_score": 1.0},
    "agrees": False,
    "unsteady": [],
    "notes": [],
    "seconds": 61.4,
}


def lines_of(**changes):
    return recheck_block(ANSWER | changes).plain.splitlines()


def test_table_headline_claim_and_place():
    assert lines_of() == [
        "     L   over baseline  over reference",
        "   128          1.300x          1.300x",
        "    4K          1.320x          1.320x",
        "champion #7 over baseline #1: 1.310x (95 %: 1.295 to 1.330)",
        "  the ledger claims 1.500x (95 %: 1.450 to 1.550): it does NOT hold here, outside what was measured",
        "champion over reference: 1.310x (95 %: 1.295 to 1.330); the ledger says 1.5100x",
        "baseline over reference: 1.310x (95 %: 1.295 to 1.330); the ledger says 1.0000x",
        "6 rounds, 61 s; not a row of the ledger: research/verify/recheck/20260301T000500-000001.json",
    ]


def test_a_claim_that_holds_is_said_so():
    assert lines_of(agrees=True)[4].endswith("): it holds")


@pytest.mark.parametrize("key", ["notes", "unsteady"])
def test_what_was_noted_is_one_clean_line(key, hostile):
    (line,) = [x for x in lines_of(**{key: [hostile]}) if "RTL" in x]
    assert line.isprintable()


def test_a_champion_that_is_the_baseline_has_no_gain_to_tell():
    lines = lines_of(speedup=None, baseline_score=None, agrees=None, champion={"id": 1})
    assert lines[0] == "     L  over reference"
    assert "the champion is the baseline #1: no gain to measure anew" in lines
    assert not any("baseline over reference" in line for line in lines)
