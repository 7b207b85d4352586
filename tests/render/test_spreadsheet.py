"""The CSV of an exported run."""

from __future__ import annotations

import csv
import io

from mjolnir.render.spreadsheet import ledger_csv


def test_every_cell_comes_back_whole_and_none_is_a_formula(make_row):
    rows = [
        make_row(1, "baseline", score=None, best_before=None, vs_best={}, hypothesis='a,"b"\nc', agent="=cmd()"),
        make_row(2, "keep", hypothesis="-1 register", reason="+4.1%", sources=["@x", "https://y"]),
    ]
    header, first, second = csv.reader(io.StringIO(ledger_csv(rows)))
    assert header[:4] == ["id", "ts", "commit", "status"]
    assert first[4:] == ["gain_too_small", "", "", "", "pass", "'=cmd()", 'a,"b"\nc', "geomean +0.4% ≤ +2%", ""]
    assert second[9:] == ["autoresearch", "'-1 register", "'+4.1%", "'@x https://y"]
    assert float(second[5]) == 1.0412
