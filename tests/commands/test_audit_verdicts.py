"""A forger who makes every hash, copy and anchor fit is still caught where the numbers do not carry the verdict."""

from __future__ import annotations

import pytest

pytest_plugins = ("audit_fixtures",)


def forged(ended, place, change):
    """Findings after the row in `place` was changed and everything that vouches for it was made to fit."""
    rows = ended.rows()
    change(rows[place])
    ended.forge(rows)
    return {(code, row) for code, row in ended.codes() if row == place + 1}


def only_verdict(place):
    return {("E_VERDICT", place + 1)}


@pytest.mark.parametrize("run", ["confirmed_run", "seed_run"])
def test_a_discard_turned_into_a_keep_is_found(copy_of, run, request):
    ended = copy_of(request.getfixturevalue(run))
    place = ended.row("discard", "gain_too_small")
    assert forged(ended, place, lambda row: row.update(status="keep", rule="gain")) == only_verdict(place)


@pytest.mark.parametrize("status", ["incorrect", "partial_sweep", "not_confirmed"])
def test_any_discard_turned_into_a_keep_is_found(ended, status):
    place = ended.row("discard", status)
    assert forged(ended, place, lambda row: row.update(status="keep", rule="gain")) == only_verdict(place)


@pytest.mark.parametrize("status", ["crash", "invalid", "noisy"])
def test_any_failure_turned_into_a_keep_is_found(ended, status):
    place = ended.row(status)
    assert forged(ended, place, lambda row: row.update(status="keep", rule="gain")) == only_verdict(place)


def test_a_keep_turned_into_a_discard_is_found(ended):
    place = ended.row("keep")
    assert forged(ended, place, lambda row: row.update(status="discard", rule="not_confirmed")) == only_verdict(place)


def halve_times(row):
    for pairs in row["ab"]["rounds"]:
        for tokens, (champion, candidate) in pairs.items():
            pairs[tokens] = [champion, candidate / 2]


CHANGES = {
    "better rounds": halve_times,
    "a better score": lambda row: row.update(score=row["score"] * 1.01),
    "better speedups": lambda row: row.update(per_L={k: v * 1.1 for k, v in row["per_L"].items()}),
    "a shorter time": lambda row: row["mj_us"].update({"128": 1.0}),
    "a longer reference": lambda row: row["fi_us"].update({"128": 1e6}),
    "a better ratio": lambda row: row["vs_best"].update({"128": 9.0}),
    "a better mean": lambda row: row["confirm"].update(m=row["confirm"]["m"] * (1 + 1e-7)),
    "less scatter": lambda row: row["confirm"].update(se=0.0001),
    "a better t": lambda row: row["confirm"].update(t=1e6),
    "other slower lengths": lambda row: row["confirm"].update(slower=[128]),
    "a lower floor": lambda row: (
        row["confirm"].update(se_floor=0.001),
        row["params"]["confirm"].update(se_floor=0.001),
    ),
    "another reason": lambda row: row.update(reason="side by side in 2 rounds +99 %"),
    "a longer reason": lambda row: row.update(reason=row["reason"] + "; trust it"),
    "lengths that were not measured": lambda row: row["params"].update(lengths=[128, 256]),
    "a higher floor without a calibration": lambda row: (
        row["confirm"].update(se_floor=0.0021),
        row["params"]["confirm"].update(se_floor=0.0021),
    ),
    "a further attempt": lambda row: row["confirm"].update(attempt=2),
    "a round more": lambda row: row["ab"]["rounds"].append(row["ab"]["rounds"][0]),
    "a round less": lambda row: row["ab"]["rounds"].pop(),
    "no rounds": lambda row: row.update(ab=None, confirm=None),
    "a better screen": lambda row: row["screen"].update(gain=9.0),
    "no screen": lambda row: row.update(screen=None),
    "another seed verdict": lambda row: row.update(judge={"status": "discard", "reason": "x"}),
    "a lower threshold": lambda row: (row.update(min_gain=0.001), row["params"].update(min_gain=0.001)),
    "more noise allowed": lambda row: row["params"].update(noise=0.5),
    "fewer lengths": lambda row: row["params"].update(required=[128]),
    "another rule": lambda row: row["params"].update(rule="seed"),
    "an unknown rule": lambda row: row["params"].update(rule="mine"),
    "no params": lambda row: row.update(params=None),
    "odd params": lambda row: row["params"].update(min_gain="much"),
    "odd rounds": lambda row: row["ab"].update(rounds=[{"128": "fast"}]),
    "another champion": lambda row: row.update(champion_id=7),
    "a lower score before": lambda row: row.update(best_before=0.1),
    "another attempt": lambda row: row.update(attempt=3),
    "a made-up code": lambda row: row.update(status="invalid", rule="E_MINE", codes=["E_MINE"]),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_keep_that_does_not_follow_from_its_numbers_is_found_with(ended, name):
    place = ended.row("keep")
    assert forged(ended, place, CHANGES[name]) == only_verdict(place)


def test_an_old_row_among_new_ones_is_no_way_around_the_rule(ended):
    place = ended.row("discard", "gain_too_small")

    def strip(row):
        for key in ("schema", "params", "judge", "screen"):
            row[key] = None
        row.update(status="keep", rule="gain")

    assert ("E_LEDGER", place + 1) in forged(ended, place, strip)
