"""`mjolnir autoresearch calibrate`: the champion against itself, on the scripted target."""

from __future__ import annotations

import json
import math
import signal

import pytest

from doubles.research import Hold
from mjolnir.core import aa_bootstrap
from mjolnir.core.calibration import as_fact
from mjolnir.errors import Refused
from mjolnir.loop.calibrate import newest_calibration, require_fitting

pytest_plugins = ("doubles.fixtures",)

NOISE = {
    "128": [1.01, 0.99, 1.03, 0.97],
    "1024": [1.06, 0.95, 1.02, 0.98],
    "4096": [1.16, 1.0, 1.0, 1.161],
    "16384": [1.01, 1.02, 0.99, 1.0],
}


@pytest.fixture
def few_trials(monkeypatch):
    """The command in this process with a bootstrap that is short."""

    def short(noise, **how):
        return aa_bootstrap.expected_rates(noise, **how, no_ops=100, changes=20)

    monkeypatch.setattr("mjolnir.loop.aa_race.expected_rates", short)


@pytest.fixture
def run(research, few_trials):
    """A run with a baseline and without a calibration."""
    return research.started("oct11", "--rule", "confirmed", "--no-calibrate")


def calibrate(lab, *words):
    return lab.call("autoresearch", "calibrate", *words)


def facts(lab, tag="oct11"):
    path = lab.root / f".git/mjolnir/{tag}/calibrations.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def races(lab):
    path = lab.machine_file.with_name(f"{lab.machine_file.name}.races")
    return path.read_text().splitlines() if path.exists() else []


def fails(lab, exit_code, code, *words):
    """It must fail with nothing written. Returns the error."""
    before = lab.state(), facts(lab)
    said = calibrate(lab, "--json", *words)
    assert (said.code, said.json["error"]["code"]) == (exit_code, code), said.err
    assert said.json["schema"] == "mjolnir.calibrate/1"
    assert (lab.state(), facts(lab)) == before
    assert not lab.inflight.exists()
    return said.json["error"]


def test_the_answer_is_the_fact_that_is_kept(run):
    run.machine(race_noise=NOISE)
    said = calibrate(run, "--json", "--runs", "4")
    assert said.code == 0, said.err
    assert said.json == facts(run)[0]
    assert (said.json["schema"], said.json["runs"]) == ("mjolnir.calibrate/1", 4)
    assert said.json["sigma"]["128"] == pytest.approx(
        math.sqrt(sum(math.log(x) ** 2 for x in NOISE["128"]) / 4), rel=1e-6
    )
    row = run.rows()[0]
    for key in ("config_hash", "harness_hash", "target", "device"):
        assert said.json[key] == row[key]
    assert (said.json["commit"], said.json["kernel"]) == (row["commit_full"], row["program_hash"])
    assert (said.json["worker_pairs"], said.json["min_gain"]) == (3, 0.05)


def test_it_is_no_experiment(run):
    rows, state = run.rows(), run.state()
    assert calibrate(run, "--runs", "2").code == 0
    assert (run.rows(), run.state()) == (rows, state)
    assert not run.inflight.exists()


def test_the_order_of_the_legs_turns_from_race_to_race(run):
    run.machine()
    assert calibrate(run, "--runs", "3").code == 0
    assert races(run) == ["champion, candidate", "candidate, champion", "champion, candidate"]


def test_a_person_reads_noise_speeds_rates_and_one_sentence(run):
    run.machine(race_noise=NOISE)
    said = calibrate(run, "--runs", "8").out
    lines = said.splitlines()
    assert "8 races" in said
    assert any(line.split()[:1] == ["4K"] and "1.16" in line and "times the time" in line for line in lines)
    assert any(line.split()[:1] == ["128"] and line.endswith("—") for line in lines)
    assert "noisy at 4K" in said
    assert any("confirmed" in line and "seed" in line for line in lines)
    for gain in ("no-op", "+2 %", "+3 %", "+5 %", "+10 %"):
        assert any(line.strip().startswith(gain) and line.count(" to ") == 2 for line in lines), gain
    assert lines[-1].startswith("a no-op passes in ")
    assert lines[-1].endswith(" % of tries on this device")
    assert "luck" not in lines[-1]


def test_the_champion_is_raced_and_not_the_work_tree(run):
    run.commit(speedup=1.5)
    run.write("src/kernel.py", "broken(\n")
    said = calibrate(run, "--json", "--runs", "2")
    assert said.json["commit"] == run.rows()[0]["commit_full"]


def test_without_a_champion_the_base_is_raced(research, few_trials):
    research.started("oct11", "--rule", "confirmed", "--no-baseline")
    said = calibrate(research, "--json", "--runs", "2")
    assert said.json["commit"] == research.head()


@pytest.mark.parametrize("runs", ["-1", "0", "1", "1001"])
def test_a_number_of_runs_that_makes_no_sense_is_wrong_use(run, runs):
    assert runs in fails(run, 2, "E_USAGE", "--runs", runs)["message"]
    assert races(run) == []


def test_outside_a_run_it_is_refused(research):
    said = calibrate(research, "--json")
    assert (said.code, said.json["error"]["code"]) == (4, "E_RUN")


def test_a_device_that_does_not_answer_is_exit_2(run):
    run.machine(fault="no device answers")
    fails(run, 2, "E_DEVICE")


@pytest.mark.parametrize("fail", ["crash", "E_STATE"])
def test_a_champion_that_fails_is_exit_2_and_named(research, few_trials, fail):
    research.commit(extra=f'RACE = {{"fail": "{fail}", "at": 2}}')
    research.started("oct11", "--rule", "confirmed", "--no-calibrate")
    error = fails(research, 2, "E_CHAMPION")
    assert "the champion #1" in error["message"]
    assert ("boom" if fail == "crash" else fail) in error["message"]


def test_a_race_on_a_busy_machine_is_run_once_more(run):
    run.machine(race_unsteady=["", "other load"])
    said = calibrate(run, "--json", "--runs", "2")
    assert said.json["notes"] == []
    assert "other load" in said.err
    assert len(races(run)) == 3
    assert races(run)[1] == races(run)[2], "the same race again"


def test_a_race_that_is_never_steady_counts_with_a_note(run):
    run.machine(race_unsteady=["other load", "other load"])
    said = calibrate(run, "--json", "--runs", "2")
    assert said.code == 0
    assert len(said.json["notes"]) == 1
    assert "race 1 of 2" in said.json["notes"][0]
    assert "other load" in said.json["notes"][0]


def test_a_device_that_scatters_too_much_is_told(run):
    run.machine(race_noise={"128": [1.3, 0.7]})
    said = calibrate(run, "--runs", "4")
    assert said.code == 0
    assert "too noisy at 128" in said.out


def test_the_newest_one_counts(run):
    for noise in ([1.01], [1.02]):
        run.machine(race_noise={"128": noise})
        assert calibrate(run, "--runs", "2").code == 0
    newest = newest_calibration(run.root / ".git", "oct11")
    assert as_fact(newest) == facts(run)[-1]
    assert facts(run)[0]["id"] < facts(run)[1]["id"]
    assert newest_calibration(run.root / ".git", "oct12") is None


def test_a_calibration_that_cannot_be_read_is_refused_with_the_way_out(run):
    assert calibrate(run, "--runs", "2").code == 0
    path = run.root / ".git/mjolnir/oct11/calibrations.jsonl"
    path.write_text(path.read_text().replace('"rounds"', '"rings"'))
    with pytest.raises(Refused) as refusal:
        newest_calibration(run.root / ".git", "oct11")
    assert (refusal.value.code, refusal.value.hint) == ("E_CALIBRATION", "mjolnir autoresearch calibrate")
    assert calibrate(run, "--runs", "2").code == 0
    assert newest_calibration(run.root / ".git", "oct11") is not None


def test_a_calibration_fits_its_own_device_and_configuration_alone(run):
    run.machine(name="one CPU")
    assert calibrate(run, "--runs", "2").code == 0
    found = newest_calibration(run.root / ".git", "oct11")
    own = {"device": {"name": "one CPU"}, "config_hash": run.rows()[0]["config_hash"], "target": "scripted"}
    require_fitting(found, **own)
    for change, words in (
        ({"device": {"name": "another CPU"}}, "name 'one CPU' there, 'another CPU' here"),
        ({"device": {"name": "one CPU", "tools": {"numpy": "3"}}}, "tools"),
        ({"config_hash": "0"}, "another configuration"),
        ({"target": "cpu"}, "'cpu'"),
    ):
        with pytest.raises(Refused) as refusal:
            require_fitting(found, **own | change)
        assert refusal.value.code == "E_CALIBRATION"
        assert words in refusal.value.message
        assert refusal.value.hint == "mjolnir autoresearch calibrate"


def test_ctrl_c_leaves_nothing_behind(run):
    before = run.state()
    held = Hold(run, "race", "autoresearch", "calibrate", "--json")
    assert json.loads(run.inflight.read_text())["stage"] == "calibrate"
    said = held.signal(signal.SIGINT)
    assert (said.code, said.json["error"]["code"]) == (130, "E_INTERRUPTED")
    assert (run.state(), facts(run)) == (before, [])
    assert not run.inflight.exists()


def test_a_killed_calibration_is_told_by_the_next_command_and_left_nothing_half(run):
    before = run.state()
    held = Hold(run, "race", "autoresearch", "calibrate")
    held.signal(signal.SIGKILL)
    assert facts(run) == []
    run.machine()
    said = calibrate(run, "--runs", "2")
    assert said.code == 0
    assert "calibrat" in said.err
    assert "died" in said.err
    assert run.state() == before
    assert len(facts(run)) == 1


def test_the_help_has_an_example(mjolnir):
    said = mjolnir("autoresearch", "calibrate", "--help").out
    assert "Example: mjolnir autoresearch calibrate" in said
