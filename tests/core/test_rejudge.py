"""A verdict worked out again from two rows: what follows is silent, what does not is a sentence; nothing raises."""

from __future__ import annotations

import copy
import random
from dataclasses import replace
from typing import Any

import pytest

from mjolnir.core.confirm import decide, screen
from mjolnir.core.judge import judge
from mjolnir.core.model import Experiment, Status
from mjolnir.core.rejudge import RunTerms, rejudge
from mjolnir.core.stats import geomean

LENGTHS = (128, 1024, 4096, 16384, 65536, 262144)
PARAMS = {
    "min_gain": 0.02, "noise": 0.03, "reference_jump": 0.15, "max_set_aside": 2, "max_slower": 1,
    "required": list(LENGTHS), "lengths": list(LENGTHS), "iters": None, "gate": True,
}  # fmt: skip
CONFIRM_PARAMS = {
    "screen": {"reference_jump": 0.10, "max_set_aside": 2, "pass_gain": 0.01},
    "confirm": {"se_floor": 0.002, "attempt": 1},
    "calibration": None,
}
TERMS = {rule: RunTerms(rule=rule, min_gain=0.02, required=LENGTHS) for rule in ("seed", "confirmed")}


def a_row(rule="seed", *, ratio=1.0, champion=None, **values):
    """A measured row that is `ratio` times as fast as the reference, judged as it should be."""
    fi_us = {str(n): n / 10 for n in LENGTHS}
    mj_us = {key: us / ratio for key, us in fi_us.items()}
    per_length = {key: fi_us[key] / mj_us[key] for key in fi_us}
    row = Experiment(
        id=2 if champion else 1, ts="t", status=Status.DISCARD, schema="mjolnir.ledger/1", hash="h",
        score=geomean(per_length.values()), correctness="pass", per_L=per_length, fi_us=fi_us, mj_us=mj_us,
        min_gain=0.02, params={"rule": rule, **PARAMS, **(CONFIRM_PARAMS if rule == "confirmed" else {})},
    )  # fmt: skip
    verdict = judge(
        {"score": row.score, "correctness": "pass", "per_L": per_length, "fi_us": fi_us}, champion, required=LENGTHS
    )
    return replace(
        row,
        status=verdict.status,
        rule=verdict.rule,
        reason=verdict.reason,
        judge={"status": verdict.status.value, "reason": verdict.reason},
        vs_best={str(n): x for n, x in verdict.relative.items()},
        set_aside=list(verdict.set_aside),
        **values,
    )


def a_confirmed_row(champion, ratios, *, screened=None):
    """A row that passed its screen, with one round for each of `ratios` (champion's time / candidate's time)."""
    row = a_row("confirmed", ratio=screened or ratios[0], champion=champion)
    found = screen(row, champion)
    said = {"per_L": row.per_L, "fi_us": row.fi_us, "mj_us": row.mj_us, "gain": found.gain}
    said |= {"set_aside": list(found.set_aside), "status": found.status, "rule": found.rule}
    row = replace(row, screen=said, status=found.status or row.status, rule=found.rule)
    if found.status is not None:
        return row
    rounds = [{str(n): [n / 10, n / 10 / ratio] for n in LENGTHS} for ratio in ratios]
    d = decide(rounds, attempt=1)
    confirm = {"m": d.m, "se": d.se, "t": d.t, "attempt": 1, "se_floor": 0.002, "slower": list(d.slower)}
    confirm |= {"deep": list(d.deep), "status": d.status, "rule": d.rule}
    row = replace(row, ab={"rounds": rounds, "reference_us": None}, confirm=confirm, status=d.status, rule=d.rule)
    if d.status is not Status.KEEP:
        return row
    mj_us = {str(n): geomean(r[str(n)][1] for r in rounds) for n in LENGTHS}
    reference_us = {str(n): n / 10 for n in LENGTHS}
    per_length = {key: reference_us[key] / mj_us[key] for key in mj_us}
    return replace(
        row,
        ab={"rounds": rounds, "reference_us": reference_us},
        fi_us=reference_us,
        mj_us=mj_us,
        per_L=per_length,
        score=geomean(per_length.values()),
        vs_best={key: x / champion.per_L[key] for key, x in per_length.items()},
        set_aside=[],
    )


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


def test_an_unsteady_baseline_may_stand():
    row = a_row()
    assert rejudge(replace(row, params={**row.params, "unsteady": "busy"}), None, TERMS["seed"]) == []


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
