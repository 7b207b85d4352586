"""A verdict worked out again from two rows: what follows is silent, what does not is a sentence; nothing raises."""

from __future__ import annotations

import copy
import random
from dataclasses import replace
from typing import Any

import pytest
from rejudge_rows import LENGTHS, TERMS, a_confirmed_row, a_row

from mjolnir.core.judge import judge
from mjolnir.core.model import Status
from mjolnir.core.rejudge import RunTerms, rejudge


@pytest.mark.parametrize("ratio", [0.5, 0.99, 1.01, 1.02, 1.021, 1.5])
def test_every_verdict_of_the_seed_rule_follows(ratio):
    champion = a_row()
    assert rejudge(champion, None, TERMS["seed"]) == []
    assert rejudge(a_row(ratio=ratio, champion=champion), champion, TERMS["seed"]) == []


@pytest.mark.parametrize("ratios", [[1.001], [1.3, 1.3], [1.02, 1.02], [1.05, 1.04], [1.3, 1.0]])
def test_every_verdict_of_the_rule_confirmed_follows(ratios):
    champion = a_row("confirmed")
    row = a_confirmed_row(champion, ratios, screened=1.05)
    assert rejudge(row, champion, TERMS["confirmed"]) == []


def test_a_screen_that_ends_it_follows():
    champion = a_row("confirmed")
    row = a_confirmed_row(champion, [], screened=1.005)
    assert (row.status, rejudge(row, champion, TERMS["confirmed"])) == (Status.DISCARD, [])
    assert rejudge(replace(row, confirm={"status": "keep"}), champion, TERMS["confirmed"])


def test_a_round_after_the_one_that_decided_is_told():
    champion = a_row("confirmed")
    row = a_confirmed_row(champion, [1.001, 1.3], screened=1.05)
    assert any("round 1 had decided" in text for text in rejudge(row, champion, TERMS["confirmed"]))


def test_too_few_rounds_are_told():
    champion = a_row("confirmed")
    row = a_confirmed_row(champion, [1.3], screened=1.3)
    kept = replace(row, status=Status.KEEP, rule="gain")
    assert any("ask for one more" in text for text in rejudge(kept, champion, TERMS["confirmed"]))


def test_a_candidate_that_failed_in_its_confirmation_follows():
    champion = a_row("confirmed")
    row = a_confirmed_row(champion, [1.3], screened=1.3)
    nothing: dict[str, Any] = {"score": None, "per_L": {}, "fi_us": {}, "mj_us": {}, "vs_best": {}, "set_aside": []}
    crashed = replace(row, status=Status.CRASH, rule="stage_failed", **nothing)
    assert rejudge(crashed, champion, TERMS["confirmed"]) == []
    cheated = replace(row, status=Status.INVALID, rule="E_LEFTOVER", codes=["E_LEFTOVER"], **nothing)
    assert rejudge(cheated, champion, TERMS["confirmed"]) == []


def test_an_unsteady_machine_makes_a_noisy_row_and_nothing_else():
    champion = a_row()
    row = a_row(ratio=1.5, champion=champion)
    noisy = replace(row, params={**row.params, "unsteady": "busy"}, status=Status.NOISY, rule="reference_unstable")
    assert rejudge(noisy, champion, TERMS["seed"]) == []
    assert rejudge(replace(noisy, status=Status.KEEP, rule="gain"), champion, TERMS["seed"])


def test_a_baseline_whose_times_were_not_trusted_is_a_finding():
    row = a_row()
    (found,) = rejudge(replace(row, params={**row.params, "unsteady": "busy"}), None, TERMS["seed"])
    assert "noisy" in found


@pytest.mark.parametrize(
    "values",
    [
        {"correctness": "fail", "status": Status.DISCARD, "rule": "incorrect"},
        {"correctness": None, "status": Status.CRASH, "rule": "stage_failed"},
        {"correctness": "pass", "status": Status.CRASH, "rule": "stage_failed"},
        {"correctness": None, "status": Status.INVALID, "rule": "E_STATE", "codes": ["E_STATE"]},
    ],
)
def test_a_row_without_numbers_follows_from_what_happened(values):
    champion = a_row()
    empty: dict[str, Any] = {"score": None, "per_L": {}, "fi_us": {}, "mj_us": {}, "vs_best": {}, "set_aside": []}
    row = replace(a_row(ratio=1.5, champion=champion), **empty, **values)
    said = judge({"score": None, "correctness": row.correctness}, champion)
    row = replace(row, judge={"status": said.status.value, "reason": said.reason})
    assert rejudge(row, champion, TERMS["seed"]) == []
    assert rejudge(replace(row, status=Status.KEEP, rule="gain", codes=[]), champion, TERMS["seed"])


def test_laxer_terms_than_the_frozen_ones_are_told():
    champion = a_row()
    row = a_row(ratio=1.5, champion=champion)
    strict = RunTerms(rule="confirmed", min_gain=0.05, required=(*LENGTHS, 8192))
    assert len(rejudge(row, champion, strict)) == 3
    assert rejudge(row, champion) == []


def test_numbers_that_differ_in_the_seventh_digit_are_the_same():
    champion = a_row()
    row = a_row(ratio=1.5, champion=champion)
    assert rejudge(replace(row, score=row.score * (1 + 1e-7)), champion, TERMS["seed"]) == []
    assert rejudge(replace(row, score=row.score * (1 + 1e-5)), champion, TERMS["seed"])


ODD = (None, "", "x", 0, -1, True, 1e300, [], {}, [1], {"128": "x"}, {"x": 1.0}, [{"128": [1.0]}])


def test_nothing_that_a_ledger_can_hold_makes_it_raise():
    rng = random.Random(5)
    champion = a_row("confirmed")
    honest = a_confirmed_row(champion, [1.3, 1.3], screened=1.3)
    for _ in range(3000):
        row = copy.deepcopy(honest)
        place = rng.choice((row.params, row.params["confirm"], row.params["screen"], row.screen, row.ab, row.confirm))
        place[rng.choice(list(place))] = rng.choice(ODD)
        if rng.random() < 0.3:
            row = replace(row, **{rng.choice(("params", "screen", "ab", "confirm", "judge")): rng.choice((None, {}))})
        assert isinstance(rejudge(row, champion, TERMS["confirmed"]), list)


def test_a_row_of_version_0_is_judged_by_its_numbers_alone():
    champion = replace(a_row(), schema=None, hash=None, params=None, judge=None)
    row = replace(a_row(ratio=1.5, champion=champion), schema=None, hash=None, params=None, judge=None)
    assert rejudge(row, champion) == []
    assert rejudge(replace(row, status=Status.DISCARD), champion)
    assert rejudge(replace(row, score=None, status=Status.CRASH), champion) == []
