"""The rule `confirmed` in `evaluate`: champion and candidate side by side before anything is kept. Scripted target."""

from __future__ import annotations

import json
import math

import pytest

from doubles.expectations import refused
from mjolnir.core.confirm import decide, screen

pytest_plugins = ("doubles.fixtures",)

LENGTHS = (128, 1024, 4096, 16384)


def coming(lab, words, usual):
    """`words` for the races to come, one a race, after the `usual` ones of the races that were."""
    return [usual] * len(races(lab)) + list(words) + [usual] * 9


def at_every_length(lab, *factors):
    """Noise of the races to come, one factor a race, alike at every L."""
    return {str(tokens): coming(lab, factors, 1.0) for tokens in LENGTHS}


def last(lab):
    return lab.rows()[-1]


def races(lab):
    """The orders in which legs were timed, one a race since the run began."""
    path = lab.machine_file.with_name(f"{lab.machine_file.name}.races")
    return path.read_text().splitlines() if path.exists() else []


def test_a_keep_carries_the_numbers_of_its_confirmation(lab):
    lab.commit(speedup=1.2)
    lab.machine(race_noise=at_every_length(lab, 1.01, 1.02, 1.0))
    assert lab.evaluate("tiles").json["status"] == "keep"
    row = last(lab)
    rounds, confirm = row["ab"]["rounds"], row["confirm"]
    assert len(rounds) == 2
    again = decide(rounds, min_gain=row["min_gain"], attempt=confirm["attempt"], se_floor=confirm["se_floor"])
    assert (again.status, again.m, again.se, again.t) == ("keep", confirm["m"], confirm["se"], confirm["t"])
    for tokens in map(str, LENGTHS):
        candidate_us = math.sqrt(rounds[0][tokens][1] * rounds[1][tokens][1])
        assert row["mj_us"][tokens] == pytest.approx(candidate_us)
        assert row["fi_us"][tokens] == pytest.approx(row["ab"]["reference_us"][tokens])
        assert row["per_L"][tokens] == pytest.approx(row["fi_us"][tokens] / row["mj_us"][tokens])
        assert row["screen"]["per_L"][tokens] == pytest.approx(1.2)
    assert row["score"] == pytest.approx(math.prod(row["per_L"].values()) ** 0.25)
    assert row["screen"]["status"] is None
    assert row["vs_best"] == pytest.approx(row["per_L"]), "the baseline's speedups are 1"


def test_the_order_turns_from_round_to_round_and_the_reference_comes_last(lab):
    lab.commit(speedup=1.2)
    lab.evaluate()
    assert races(lab)[-3:] == ["champion, candidate", "candidate, champion", "reference, candidate"]


def test_luck_in_the_screening_run_ends_after_one_round(lab):
    lab.commit(speedup=1.06)
    lab.machine(race_noise=at_every_length(lab, 1.06))
    said = lab.evaluate().json
    assert (said["status"], said["rule"]) == ("discard", "not_confirmed")
    row = last(lab)
    assert row["judge"]["status"] == "keep", "the seed rule alone would have kept it"
    assert (len(row["ab"]["rounds"]), row["ab"]["reference_us"]) == (1, None)
    assert row["per_L"] == pytest.approx(dict.fromkeys(map(str, LENGTHS), 1.06)), "the screening run's numbers"


def test_a_gain_below_min_gain_is_not_confirmed_after_two_rounds(lab):
    lab.commit(speedup=1.04)
    said = lab.evaluate().json
    assert (said["status"], said["rule"]) == ("discard", "not_confirmed")
    assert "2 rounds" in said["reason"]
    assert len(last(lab)["ab"]["rounds"]) == 2


def test_an_l_that_is_far_slower_asks_for_a_third_round(lab):
    lab.commit(speedup={128: 0.9, 1024: 1.4, 4096: 1.4, 16384: 1.4})
    said = lab.evaluate().json
    assert (said["status"], said["rule"]) == ("discard", "slower_at_several")
    row = last(lab)
    assert (len(row["ab"]["rounds"]), row["confirm"]["deep"]) == (3, [128])
    assert "128" in said["reason"]


def test_no_gain_in_the_screening_run_begins_no_confirmation(lab):
    before = len(races(lab))
    lab.commit(speedup=1.005)
    said = lab.evaluate().json
    assert (said["status"], said["rule"]) == ("discard", "gain_too_small")
    row = last(lab)
    assert (row["ab"], row["confirm"], row["screen"]["status"]) == (None, None, "discard")
    assert len(races(lab)) == before


def test_a_reference_that_moved_at_two_of_four_lengths_is_noisy(lab):
    lab.machine(reference={"128": 1.3, "1024": 1.3})
    lab.commit(speedup=1.2)
    assert lab.evaluate().json["rule"] == "reference_unstable"
    assert last(lab)["screen"]["status"] == "noisy"


def test_a_drift_of_the_whole_device_sets_nothing_aside(lab):
    lab.machine(reference=dict.fromkeys(map(str, LENGTHS), 1.4))
    lab.commit(speedup=1.2)
    assert lab.evaluate().json["status"] == "keep"
    assert last(lab)["judge"]["status"] == "noisy", "the seed rule cannot tell a drift from noise"


def test_every_number_of_the_rule_stands_on_the_row(lab):
    lab.commit(speedup=1.2)
    lab.evaluate()
    row = last(lab)
    params = row["params"]
    assert params["screen"] == {"reference_jump": 0.1, "max_set_aside": 2, "pass_gain": 0.01}
    assert params["confirm"] == {"se_floor": row["confirm"]["se_floor"], "attempt": 1}
    champion = lab.rows()[0]
    screened = {**row, **{key: row["screen"][key] for key in ("per_L", "fi_us", "mj_us")}}
    assert screen(screened, champion).gain == row["screen"]["gain"]


def test_the_raw_blocks_of_every_race_are_on_a_run_document(lab):
    lab.commit(speedup=1.2)
    lab.evaluate()
    document = json.loads(
        (lab.root / f"research/verify/confirm/{last(lab)['verify_runs']['confirm']}.json").read_text()
    )
    assert [race["name"] for race in document["params"]["races"]] == ["round 1", "round 2", "the reference"]
    assert len({race["seed"] for race in document["params"]["races"]}) == 3
    assert {line["role"] for line in document["series"]} == {"champion", "candidate", "reference"}


@pytest.mark.parametrize(("spread", "status"), [(0.010, "keep"), (0.028, "discard")])
def test_a_second_attempt_must_show_more(lab, spread, status):
    """A gain of 7 % of which one round shows more and the other less, at three of four L."""
    lab.machine(race_noise=at_every_length(lab, 1.08))
    lab.commit(speedup=1.07)
    assert lab.evaluate().json["rule"] == "not_confirmed"
    # In the second round the champion is the one whose time the factor makes longer, so both factors are below 1.
    factors = [math.exp(-spread * 2), math.exp(-spread * 2)]
    lab.machine(race_noise={str(tokens): coming(lab, factors, 1.0) for tokens in LENGTHS})
    said = lab.evaluate("once more", "--again").json
    confirm = last(lab)["confirm"]
    assert (said["status"], confirm["attempt"]) == (status, 2)
    assert confirm["m"] == pytest.approx(math.log(1.07))
    assert confirm["t"] > 2.0
    assert (confirm["t"] > 2.9) == (status == "keep")


def test_a_noisy_first_try_does_not_use_up_the_first_attempt(lab):
    lab.machine(unsteady="a busy core")
    lab.commit(speedup=1.2)
    lab.evaluate()
    lab.machine()
    said = lab.evaluate().json
    assert (said["status"], said["attempt"], last(lab)["confirm"]["attempt"]) == ("keep", 2, 1)


def test_a_disturbed_round_is_measured_again_and_said(lab):
    lab.machine(race_unsteady=coming(lab, ["other load took the CPU"], ""))
    lab.commit(speedup=1.2)
    said = lab.evaluate().json
    assert said["status"] == "keep"
    assert any("measured again" in note for note in said["notes"])
    assert len(last(lab)["ab"]["rounds"]) == 2


def test_a_round_that_stays_disturbed_is_noisy_and_may_be_repeated(lab):
    lab.machine(race_unsteady=coming(lab, ["other load"] * 2, ""))
    lab.commit(speedup=1.2)
    said = lab.evaluate().json
    assert (said["status"], said["rule"], said["next"]["action"]) == ("noisy", "reference_unstable", "evaluate_again")
    assert "round 1" in last(lab)["params"]["unsteady"]
    assert lab.evaluate().json["status"] == "keep"


def test_the_seed_rule_keeps_on_its_own_numbers_without_a_confirmation(research):
    lab = research.started("oct11", "--rule", "seed")
    before = len(races(lab))
    lab.commit(speedup=1.2)
    said = lab.evaluate().json
    assert (said["status"], said["rule"]) == ("keep", "gain")
    row = last(lab)
    assert (row["screen"], row["ab"], row["confirm"], row["params"]["rule"]) == (None, None, None, "seed")
    assert "screen" not in row["params"]
    assert len(races(lab)) == before


def test_a_subset_of_the_lengths_is_not_confirmed(lab):
    before = len(races(lab))
    lab.commit(speedup=3.0)
    assert lab.evaluate("look", "--ls", "128 4K").json["rule"] == "partial_sweep"
    assert len(races(lab)) == before


def test_a_program_that_was_kept_is_the_same_program_later(lab):
    lab.commit(speedup=1.2)
    lab.evaluate()
    refused(lab, "E_SAME_PROGRAM")
