"""A row's floor and rate come from a calibration beside the ledger: one that was changed, swapped or taken is found."""

from __future__ import annotations

import json

import pytest
from audit_forge import TAG, Lab

pytest_plugins = ("audit_fixtures",)


@pytest.fixture
def calibrated(copy_of, calibrated_run) -> Lab:
    """A run with a calibration whose floor is above the rule's own, and its file."""
    lab = copy_of(calibrated_run)
    assert lab.findings() == []
    assert lab.rows()[1]["params"]["confirm"]["se_floor"] > 0.002
    return lab


def facts_of(lab):
    path = lab.root / ".git/mjolnir" / TAG / "calibrations.jsonl"
    return path, [json.loads(line) for line in path.read_text().splitlines()]


def forge(lab, place, change):
    rows = lab.rows()
    change(rows[place])
    lab.forge(rows)
    return lab.codes()


def test_a_floor_below_the_calibrations_own_is_found(calibrated):
    def lower(row):
        row["params"]["confirm"].update(se_floor=0.002)
        if row["confirm"]:
            row["confirm"].update(se_floor=0.002)

    place = calibrated.row("discard", "gain_too_small")
    assert forge(calibrated, place, lower) == {("E_VERDICT", place + 1)}


def test_another_rate_of_no_ops_is_found(calibrated):
    place = calibrated.row("discard", "gain_too_small")
    lower = lambda row: row["params"]["calibration"]["no_op_rate"].update(high=0.00001)  # noqa: E731
    assert forge(calibrated, place, lower) == {("E_VERDICT", place + 1)}


def test_another_rate_in_the_reason_of_a_keep_is_found(calibrated):
    place = calibrated.row("keep")
    text = calibrated.rows()[place]["reason"].rpartition("; ")[0]
    lie = lambda row: row.update(reason=f"{text}; a no-op passes in fewer than 0.001 % of tries on this device")  # noqa: E731
    assert forge(calibrated, place, lie) == {("E_VERDICT", place + 1)}


def test_a_row_that_names_a_calibration_which_is_not_there_is_found(calibrated):
    place = calibrated.row("keep")
    assert ("E_CALIBRATION", place + 1) in forge(
        calibrated, place, lambda row: row["params"]["calibration"].update(id="other")
    )


def test_a_row_without_the_calibration_that_rows_before_it_had_is_found(calibrated):
    place = calibrated.row("discard", "incorrect")

    def forget(row):
        row["params"].update(calibration=None)
        row["params"]["confirm"].update(se_floor=0.002)

    assert forge(calibrated, place, forget) == {("E_CALIBRATION", place + 1)}


def test_a_calibration_with_other_times_is_found(calibrated):
    path, (fact,) = facts_of(calibrated)
    fact["rounds"] = [{key: [b, b] for key, (a, b) in pairs.items()} for pairs in fact["rounds"]]
    path.write_text(json.dumps(fact) + "\n")
    named = {("E_CALIBRATION", row["id"]) for row in calibrated.rows() if row["params"].get("calibration")}
    assert named
    assert calibrated.codes() == named


@pytest.mark.parametrize("damage", [lambda path: path.unlink(), lambda path: path.write_text("[]\n")])
def test_calibrations_that_are_gone_or_damaged_are_found(calibrated, damage):
    damage(facts_of(calibrated)[0])
    assert {code for code, _ in calibrated.codes()} == {"E_CALIBRATION"}


def test_a_later_calibration_leaves_the_rows_before_it_as_they_were(calibrated):
    assert calibrated.research.call("autoresearch", "calibrate", "--runs", "2").code == 0
    assert calibrated.findings() == []
