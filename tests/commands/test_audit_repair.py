"""`audit --repair` from the command line: mends, says so, audits what is there then."""

from __future__ import annotations

pytest_plugins = ("audit_fixtures",)


def test_a_damaged_line_is_a_finding_until_it_is_repaired(ended):
    whole = ended.ledger.read_bytes()
    lines = ended.lines()
    ended.write([*lines[:3], b"\xffgarbage\n", *lines[4:]], mirror=False)
    found = ended.findings()
    assert any("line 4 is not a row" in f["message"] and "--repair" in f["hint"] for f in found)
    said = ended.audit("--repair")
    assert said.code == 0, said.out
    assert "note: research/ledger.jsonl: damaged line 4 moved aside to research/ledger.damaged-" in said.err
    assert ended.ledger.read_bytes() == whole
    again = ended.audit("--repair", "--json")
    assert (again.code, again.json["ok"]) == (0, True)
    assert "nothing was repaired" in again.err
    assert len(list((ended.root / "research").glob("ledger.damaged-*"))) == 1


def test_a_torn_last_line_is_a_finding_until_it_is_repaired(ended):
    ended.ledger.write_bytes(ended.ledger.read_bytes()[:-30])
    assert ended.audit().code == 1
    assert ended.audit("--repair").code == 0
    assert ended.findings() == []


def test_an_edited_row_is_not_repaired(ended):
    edited = ended.ledger.read_bytes().replace(b'"hypothesis":"an idea"', b'"hypothesis":"no idea"', 1)
    ended.ledger.write_bytes(edited)
    said = ended.audit("--repair")
    assert said.code == 1
    assert "no damaged line: nothing was repaired" in said.err
    assert ended.ledger.read_bytes() == edited
    assert ended.findings("--repair")
