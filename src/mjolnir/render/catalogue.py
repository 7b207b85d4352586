"""The words of mjolnir explained: one of them whole, or all as a list."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from rich.text import Text

from mjolnir.core.catalogue import Entry

_TITLES = {
    "status": "what became of an experiment",
    "rule": "the clause that decided",
    "invalid": "codes of invalid rows",
    "refusal": "refused: exit 4, no row",
    "finding": "findings of audit (exit 1)",
    "environment": "environment, configuration and usage: exit 2",
    "exit": "exit codes",
}


def entry_block(entry: Entry) -> Text:
    """One word: its kind, meaning and mending."""
    text = Text(f"{entry.code} ({entry.kind})\n{entry.meaning}")
    text.stylize("bold", 0, len(entry.code))
    if entry.mend:
        text.append(f"\nwhat to do: {entry.mend}")
    return text


def entry_list(entries: Sequence[Entry]) -> Text:
    """Every word with its meaning, by kind."""
    width = max(len(entry.code) for entry in entries)
    lines: list[Text] = []
    for kind, held in groupby(entries, key=lambda entry: entry.kind):
        lines += (
            [Text(""), Text(_TITLES.get(kind, kind), style="bold")]
            if lines
            else [Text(_TITLES.get(kind, kind), "bold")]
        )
        lines += [Text(f"  {entry.code:<{width}}  {entry.meaning}") for entry in held]
    lines += [Text(""), Text("one of them, and what to do: mjolnir explain CODE")]
    return Text("\n").join(lines)
