"""One experiment whole, for `show`: every fact of its row, then its diff and its logs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from rich.text import Text

from mjolnir.core.model import Experiment
from mjolnir.render.length_table import length_lines
from mjolnir.render.number import DASH, gain_text, row_relative, score_text
from mjolnir.render.style import STATUS_STYLES
from mjolnir.render.text import one_line, short_commit, whole

_LABEL_CELLS = 12
_TEXT_LIMIT = 20_000
_VALUE_LIMIT = 2_000


def row_block(row: Experiment) -> Text:
    """The human form of a row; its hypothesis whole, lines kept."""
    style = STATUS_STYLES[row.status]
    head = Text(f"#{row.id} {style.glyph} {row.status.value}" + (f" ({one_line(row.rule, 60)})" if row.rule else ""))
    head.stylize(style.terminal, len(f"#{row.id} "), len(f"#{row.id} {style.glyph} {row.status.value}"))
    lines = [head, Text(""), Text(whole(row.hypothesis, _TEXT_LIMIT) or DASH), Text("")]
    lines += [_fact(label, value) for label, value in _facts(row) if value]
    table = length_lines(row)
    if table:
        lines += [Text(""), *(Text(line) for line in table)]
    return Text("\n").join(lines)


def _fact(label: str, value: str) -> Text:
    line = Text(f"{label:<{_LABEL_CELLS}}{value}")
    line.stylize("dim", 0, len(label))
    return line


def _facts(row: Experiment) -> Iterator[tuple[str, str]]:
    yield "why", one_line(row.reason, _VALUE_LIMIT)
    yield "score", _score(row)
    yield "correctness", one_line(row.correctness, 40) or "not reached"
    yield "commit", _commit(row)
    yield "champion", _champion(row)
    yield "attempt", str(row.attempt) if row.attempt is not None and row.attempt > 1 else ""
    yield "codes", " ".join(one_line(code, 40) for code in row.codes)
    for note in row.notes:
        yield "note", one_line(note, _VALUE_LIMIT)
    yield "agent", one_line(row.agent, 200)
    for source in row.sources:
        yield "source", one_line(source, _VALUE_LIMIT)
    yield "when", one_line(row.ts, 40)
    yield "run", " · ".join(one_line(part, 100) for part in (row.run, row.branch, row.target) if part)
    yield "device", _plain(row.device)
    yield "seconds", _plain(row.seconds)
    yield "program", one_line(row.program_hash, 80)


def _score(row: Experiment) -> str:
    if row.score is None:
        return "none"
    relative = row_relative(row)
    against = f", {gain_text(relative)} against its champion" if relative is not None else ""
    before = f" (champion's score then: {score_text(row.best_before)})" if row.best_before is not None else ""
    return f"{score_text(row.score)}x of the reference{against}{before}"


def _commit(row: Experiment) -> str:
    commit = one_line(row.commit_full or row.commit, 64)
    parent = one_line(row.parent_full, 64)
    return f"{commit} (parent {parent[:12]})" if parent else commit


def _champion(row: Experiment) -> str:
    if row.champion_id is None:
        return ""
    return f"#{row.champion_id} {short_commit(row.champion_commit)}".rstrip()


def _plain(value: Mapping[str, Any] | None) -> str:
    """A small mapping on one line: "correctness 3.1, sweep 21.5"."""
    if not value:
        return ""
    words = (
        f"{key} {inner if isinstance(inner, str | int | float) else json.dumps(inner)}" for key, inner in value.items()
    )
    return one_line(", ".join(words), _VALUE_LIMIT)
