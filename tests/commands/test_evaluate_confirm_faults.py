"""What can go wrong in a confirmation: a leg that fails, a device that goes away, a kill. Scripted target."""

from __future__ import annotations

import json
import signal

import pytest

from doubles.research import Hold, kernel_text

pytest_plugins = ("doubles.fixtures",)


def last(lab):
    return lab.rows()[-1]


def races(lab):
    """The orders in which legs were timed, one a race since the run began."""
    path = lab.machine_file.with_name(f"{lab.machine_file.name}.races")
    return path.read_text().splitlines() if path.exists() else []


@pytest.mark.parametrize(
    ("fail", "status", "rule"), [("crash", "crash", "stage_failed"), ("E_STATE", "invalid", "E_STATE")]
)
def test_a_candidate_that_fails_in_its_confirmation_is_never_champion(lab, fail, status, rule):
    lab.commit(speedup=1.2, extra=f"RACE = {{'fail': {fail!r}, 'at': {len(races(lab)) + 2}}}")
    said = lab.evaluate().json
    assert (said["status"], said["rule"], said["score"], said["per_L"]) == (status, rule, None, {})
    row = last(lab)
    assert (row["correctness"], row["confirm"]["status"], len(row["ab"]["rounds"])) == ("pass", None, 1)
    assert (said["log"] is not None) == (fail == "crash")
    lab.commit(speedup=1.3)
    assert lab.evaluate().json["status"] == "keep"
    assert last(lab)["champion_id"] == 1


def test_a_champion_that_no_longer_runs_is_told_and_writes_no_row(research):
    research.write("src/kernel.py", kernel_text(extra="RACE = {'fail': 'crash', 'at': 1}"))
    research.git("commit", "-qam", "a champion that fails when it is raced")
    lab = research.started("oct11", "--no-calibrate")
    before = lab.rows()
    lab.commit(speedup=1.2)
    said = lab.evaluate()
    assert (said.code, said.json["error"]["code"]) == (2, "E_CHAMPION")
    assert "#1" in said.json["error"]["message"]
    assert lab.rows() == before
    assert not lab.inflight.exists()


def test_a_device_that_goes_away_in_a_round_writes_no_row(lab):
    lab.commit(speedup=1.2, extra=f"RACE = {{'fail': 'environment', 'at': {len(races(lab)) + 2}}}")
    before = lab.rows()
    said = lab.evaluate()
    assert (said.code, said.json["error"]["code"]) == (2, "E_WORKER")
    assert lab.rows() == before


def test_the_champions_commit_gone_is_refused_before_anything_runs(lab):
    lab.commit(speedup=1.2)
    champion = lab.head()
    lab.evaluate()
    lab.commit(speedup=1.3)
    (lab.root / ".git/objects" / champion[:2] / champion[2:]).unlink()
    before = lab.ledger.read_bytes()
    said = lab.evaluate()
    assert said.code == 4
    assert said.json["error"]["code"] in ("E_LINEAGE", "E_OBJECTS")
    assert lab.ledger.read_bytes() == before


def test_a_kill_during_the_confirmation_leaves_no_row_and_the_next_evaluate_starts_clean(lab):
    commit = lab.commit(speedup=1.2)
    before = lab.rows()
    held = Hold(lab, "race")
    held.signal(signal.SIGKILL)
    assert lab.rows() == before
    assert json.loads(lab.inflight.read_text())["stage"] == "sweep"
    lab.machine()
    said = lab.evaluate()
    assert said.json["status"] == "keep", said.err
    assert "confirm" in said.err or "interrupted" in said.err or "left" in said.err
    row = last(lab)
    assert (row["commit_full"], len(row["ab"]["rounds"]), row["attempt"]) == (commit, 2, 1)


def test_ctrl_c_during_the_confirmation_is_130_and_leaves_nothing(lab):
    lab.commit(speedup=1.2)
    before = lab.rows()
    said = Hold(lab, "race").signal(signal.SIGINT)
    assert said.code == 130
    assert lab.rows() == before
    assert not lab.inflight.exists()


@pytest.mark.parametrize("place", [0, 1, 2], ids=["round 1", "round 2", "reference"])
@pytest.mark.parametrize("factor", [0.0, -1.0, float("nan"), float("inf")])
def test_times_that_are_none_in_a_confirmation_are_invalid(lab, place, factor):
    lab.commit(speedup=1.2)
    factors = [1.0] * len(races(lab)) + [factor if number == place else 1.0 for number in range(9)]
    lab.machine(race_noise={"1024": factors})
    said = lab.evaluate()
    assert (said.code, said.json["status"], said.json["rule"]) == (0, "invalid", "bad_numbers"), said.err
    assert (said.json["codes"], said.json["score"]) == (["E_NUMBERS"], None)
    assert lab.call("autoresearch", "audit").code == 0


def test_a_target_that_gives_no_time_calibrates_nothing(lab):
    lab.machine(race_noise={"1024": [0.0]})
    before = (lab.root / ".git/mjolnir/oct11/calibrations.jsonl").read_bytes()
    said = lab.call("autoresearch", "calibrate", "--runs", "2", "--json")
    assert (said.code, said.json["error"]["code"]) == (2, "E_TARGET")
    assert (lab.root / ".git/mjolnir/oct11/calibrations.jsonl").read_bytes() == before


def test_a_calibration_that_was_removed_after_it_judged_is_missed(lab):
    lab.commit(speedup=1.01)
    lab.evaluate()
    lab.git("reset", "-q", "--hard", "HEAD~1")
    (lab.root / ".git/mjolnir/oct11/calibrations.jsonl").unlink()
    lab.commit(speedup=1.2)
    said = lab.evaluate()
    assert (said.code, said.json["error"]["code"]) == (4, "E_CALIBRATION")
    assert lab.call("autoresearch", "calibrate", "--runs", "2").code == 0
    assert lab.evaluate().json["status"] == "keep"


def test_a_champion_that_is_slow_beside_others_makes_no_keep(research):
    """A chain of kernels that slow down as champions would look like progress; the reference sees none."""
    research.write("src/kernel.py", kernel_text(extra="RACED = {'champion': 1.5}"))
    research.git("commit", "-qam", "a champion that waits for its challenger")
    lab = research.started("oct11", "--no-calibrate")
    lab.commit(speedup=1.02)
    said = lab.evaluate().json
    assert (said["status"], said["rule"]) == ("discard", "not_confirmed")
    assert "beside the reference it is +2 %" in said["reason"]
    row = lab.rows()[-1]
    assert (row["confirm"]["status"], row["ab"]["reference_us"] is not None) == ("keep", True)
    assert row["per_L"] == row["screen"]["per_L"]
    audit = lab.call("autoresearch", "audit", "--json")
    assert audit.json["findings"] == []


def test_a_confirmation_that_left_no_row_makes_the_next_one_a_second_attempt(lab):
    """Else whoever can kill an evaluation could look at its rounds, and try again until they are lucky."""
    lab.commit(speedup=1.2)
    Hold(lab, "race").signal(signal.SIGKILL)
    lab.machine()
    said = lab.evaluate().json
    row = lab.rows()[-1]
    assert (said["status"], row["attempt"], row["confirm"]["attempt"]) == ("keep", 1, 2)
    assert row["params"]["confirm"]["unrecorded"] == 1
    assert any("left no row" in note for note in row["notes"])
    assert lab.call("autoresearch", "audit", "--json").json["findings"] == []
    lab.commit(speedup=1.4)
    assert lab.evaluate().json["status"] == "keep"
    assert lab.rows()[-1]["confirm"]["attempt"] == 1
