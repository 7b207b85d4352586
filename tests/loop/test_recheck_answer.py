"""What a recheck makes of its rounds, and whether the ledger's claim holds against them."""

from __future__ import annotations

import math

import pytest

from mjolnir.core.model import Experiment, Status
from mjolnir.loop.recheck_answer import Rows, make_answer, make_document
from mjolnir.loop.recheck_rounds import Rounds
from mjolnir.store.run_state import RunState

STATE = RunState(
    tag="oct11", branch="autoresearch/oct11", base="main", base_commit="0" * 40, target="cpu", rule="confirmed",
    min_gain=0.05, kernel="k.py", config={}, config_hash="", harness_hash="", created="",
)  # fmt: skip


def answer_of(*gains, confirm=None, spread=0.01):
    """The answer where the champion is these times as fast as the baseline, and the ledger holds one keep."""
    rounds = Rounds(
        times_us=[
            {"reference": {128: 100.0}, "baseline": {128: 100.0 * (1 + spread * n)}, "champion": {128: 100.0 / gain}}
            for n, gain in enumerate(gains)
        ]
    )
    first = Experiment(id=1, ts="", status=Status.BASELINE, score=1.0, per_L={"128": 1.0})
    keep = Experiment(id=2, ts="", status=Status.KEEP, score=1.3, per_L={"128": 1.3}, confirm=confirm)
    rows = Rows(kept=(first, keep), baseline=first, champion=keep)
    return make_answer(STATE, rows, rounds, device={}, ts="now", seconds=1.0), rounds


def test_a_claim_inside_what_was_measured_holds():
    assert answer_of(1.29, 1.31, 1.3)[0]["agrees"] is True


@pytest.mark.parametrize("gain", [1.1, 1.6])
def test_a_claim_outside_of_it_does_not(gain):
    assert answer_of(gain, gain * 1.001, gain, spread=0.0)[0]["agrees"] is False


def test_two_intervals_that_share_a_value_agree():
    wide = {"m": math.log(1.3), "se": 0.1}
    answer, _ = answer_of(1.15, 1.151, 1.15, confirm=wide, spread=0.0)
    assert answer["agrees"] is True
    assert answer["claimed"]["low"] == pytest.approx(math.exp(math.log(1.3) - 0.196))


def test_the_document_has_every_rounds_time_and_their_geomean():
    answer, rounds = answer_of(1.0, 4.0)
    document = make_document(STATE, answer, rounds)
    (points,) = [series["points"] for series in document["series"] if series["role"] == "champion"]
    assert points == [{"L": 128, "total_us": pytest.approx(50.0), "rounds_us": [100.0, 25.0]}]
