"""Whatever target reports a finding, for whichever code of integrity: the row is invalid, counts, and never leads."""

from __future__ import annotations

import pytest

pytest_plugins = ("doubles.fixtures",)

CODES = (
    *("E_STATE", "E_UNWRITTEN", "E_PROFILED", "E_MUTATES", "E_FOREIGN_KERNEL", "E_NO_KERNEL", "E_LAUNCHES"),
    *("E_FLOOR_TIME", "E_FLOOR_BYTES", "E_WALL", "E_LEFTOVER", "E_CONTRACT"),
)


@pytest.mark.parametrize("code", CODES)
def test_a_finding_of_a_target_is_an_invalid_row_and_its_program_is_done(lab, code):
    lab.commit(outcome=code, speedup=50.0)
    said = lab.evaluate()
    assert said.code == 0
    assert (said.json["status"], said.json["rule"], said.json["codes"]) == ("invalid", code, [code])
    assert (said.json["score"], said.json["per_L"], said.json["best_before"]) == (None, {}, pytest.approx(1.0))
    assert lab.rows()[-1]["champion_id"] == 1
    again = lab.evaluate("again", "--again")
    assert (again.code, len(lab.rows())) == (4, 2)
