"""`init` times the starting kernel against itself, on the scripted target."""

from __future__ import annotations

import json

import pytest

from doubles.expectations import fails
from mjolnir.core import aa_bootstrap
from mjolnir.loop.calibrate import SHORT_RUNS, newest_calibration

pytest_plugins = ("doubles.fixtures",)

CONFIRMED = ("--rule", "confirmed")


@pytest.fixture(autouse=True)
def _few_trials(monkeypatch):
    def short(noise, **how):
        return aa_bootstrap.expected_rates(noise, **how, no_ops=100, changes=20)

    monkeypatch.setattr("mjolnir.loop.aa_race.expected_rates", short)


def calibration(research, tag="oct11"):
    return newest_calibration(research.root / ".git", tag)


def races(research):
    path = research.machine_file.with_name(f"{research.machine_file.name}.races")
    return path.read_text().splitlines() if path.exists() else []


def test_a_run_of_the_confirmed_rule_starts_with_a_short_calibration(research):
    research.machine(race_noise={"128": [1.02, 0.98]})
    said = research.init("oct11", *CONFIRMED)
    assert said.code == 0, said.err
    found = calibration(research)
    (row,) = research.rows()
    assert (found.runs, len(races(research))) == (SHORT_RUNS, SHORT_RUNS)
    assert (found.commit, found.kernel) == (row["commit_full"], row["program_hash"])
    assert (found.config_hash, found.harness_hash) == (row["config_hash"], row["harness_hash"])
    assert "128 2.0 %" in said.out
    assert "a no-op passes in" in said.out


@pytest.mark.parametrize("words", [(*CONFIRMED, "--no-calibrate"), (*CONFIRMED, "--no-baseline"), ("--rule", "seed")])
def test_it_is_left_out_when_it_is_not_wanted_or_of_no_use(research, words):
    research.started("oct11", *words)
    assert calibration(research) is None
    assert races(research) == []


@pytest.mark.parametrize("rule", ["confirmed", "seed"])
def test_the_rule_is_frozen(research, rule):
    said = research.init("oct11", "--rule", rule, "--no-calibrate")
    assert json.loads((research.root / ".git/mjolnir/oct11/run.json").read_text())["rule"] == rule
    assert f"rule     {rule}" in said.out


def test_noise_of_5_to_15_percent_is_a_warning(research):
    research.machine(race_noise={"1024": [1.08, 0.93]})
    said = research.init("oct11", *CONFIRMED)
    assert said.code == 0
    assert "at 1K" in said.err
    assert calibration(research).noise.noisy_lengths == (1024,)


def test_noise_above_15_percent_refuses_and_leaves_nothing_behind(research):
    research.machine(race_noise={"1024": [1.3, 0.75]})
    said = fails(research, 2, *CONFIRMED)
    assert "at 1K" in said.err
    hint = said.err.splitlines()[-1]
    for cause in ("load", "clocks", "heat"):
        assert cause in hint
    assert not (research.root / ".git/mjolnir").exists() or not list((research.root / ".git/mjolnir").iterdir())
    research.machine()
    assert research.init("oct11", *CONFIRMED).code == 0, "the tag is free again"


@pytest.mark.parametrize("fail", ["crash", "E_STATE"])
def test_a_kernel_that_fails_against_itself_is_no_baseline(research, fail):
    research.commit(extra=f'RACE = {{"fail": "{fail}", "at": 2}}')
    assert ("boom" if fail == "crash" else fail) in fails(research, 1, *CONFIRMED).err


def test_a_device_that_goes_away_is_exit_2_and_leaves_nothing_behind(research):
    research.commit(extra='RACE = {"fail": "environment", "at": 3}')
    assert "the device went away" in fails(research, 2, *CONFIRMED).err


def test_writing_that_fails_takes_the_calibration_back_too(research, monkeypatch):
    from mjolnir.errors import Refused
    from mjolnir.store.ledger import Ledger

    def full(self, row):
        raise Refused("E_DISK_FULL", "no room to write the ledger", "free some space")

    monkeypatch.setattr(Ledger, "append", full)
    fails(research, 4, *CONFIRMED)
    assert calibration(research) is None
