"""`audit --repair` from the command line: mends, says so, audits what is there then."""

from __future__ import annotations

pytest_plugins = ("audit_fixtures",)


def test_a_damaged_line_is_a_finding_until_it_is_repaired(lab):
    whole = lab.ledger.read_bytes()
    lines = lab.lines()
    lab.write([*lines[:3], b"\xffgarbage\n", *lines[4:]], mirror=False)
    found = lab.findings()
    assert any("line 4 is not a row" in f["message"] and "--repair" in f["hint"] for f in found)
    said = lab.audit("--repair")
    assert said.code == 0, said.out
    assert "note: research/ledger.jsonl: damaged line 4 moved aside to research/ledger.damaged-" in said.err
    assert lab.ledger.read_bytes() == whole
    again = lab.audit("--repair", "--json")
    assert (again.code, again.json["ok"]) == (0, True)
    assert "nothing was repaired" in again.err
    assert len(list((lab.root / "research").glob("ledger.damaged-*"))) == 1


def test_a_torn_last_line_is_a_finding_until_it_is_repaired(lab):
    lab.ledger.write_bytes(lab.ledger.read_bytes()[:-30])
    assert lab.audit().code == 1
    assert lab.audit("--repair").code == 0
    assert lab.findings() == []


def test_an_edited_row_is_not_repaired(lab):
    edited = lab.ledger.read_bytes().replace(b'"hypothesis":"an idea"', b'"hypothesis":"no idea"', 1)
    lab.ledger.write_bytes(edited)
    said = lab.audit("--repair")
    assert said.code == 1
    assert "no damaged line: nothing was repaired" in said.err
    assert lab.ledger.read_bytes() == edited
    assert lab.findings("--repair")
