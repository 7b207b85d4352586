"""The ledger as CSV for a spreadsheet: whole text, and no cell that a spreadsheet would run as a formula."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable

from mjolnir.core.model import Experiment
from mjolnir.render.number import row_relative
from mjolnir.render.text import clean

COLUMNS = (
    "id", "ts", "commit", "status", "rule", "score", "best_before", "relative", "correctness", "agent", "hypothesis",
    "reason", "sources",
)  # fmt: skip
_FORMULA_STARTS = ("=", "+", "-", "@", "\t")


def ledger_csv(rows: Iterable[Experiment]) -> str:
    """RFC 4180 with a header; a number at full precision, nothing for null, sources with a space between."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(COLUMNS)
    for row in rows:
        head = map(_text, (row.ts, row.commit, row.status.value, row.rule))
        words = map(_text, (row.correctness, row.agent, row.hypothesis, row.reason, " ".join(row.sources)))
        writer.writerow([row.id, *head, row.score, row.best_before, row_relative(row), *words])
    return text.getvalue()


def _text(value: str | None) -> str:
    """Cleaned text; a leading sign that would make it a formula is disarmed by an apostrophe, as spreadsheets do."""
    shown = clean(value or "")
    return f"'{shown}" if shown.startswith(_FORMULA_STARTS) else shown
