"""SUMMARY.md of an exported run. Text from agents is data: it cannot break the table, carry HTML or link anywhere."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote, urlsplit

from mjolnir.core.model import Experiment
from mjolnir.render.number import DASH, gain_text, score_text
from mjolnir.render.text import one_line

_CELL_LIMIT = 400
"""Characters of a hypothesis in the table; ledger.jsonl beside it has the whole."""
_URL_LIMIT = 2000
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "|": "&#124;", "`": "&#96;", "\\": "&#92;", "$": "&#36;"}
_SPECIAL = re.compile(r"[&<>|`\\$]|[*_\[\]~]")
_COMMIT = re.compile(r"[0-9a-f]{4,64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What SUMMARY.md tells. `counts` by status, `confirmed_gain` a ratio minus 1 along the kept chain, None: unknown.

    `diffs`: the ids of the rows that have a file diffs/<id>.diff.
    """

    tag: str
    rows: Sequence[Experiment]
    counts: Mapping[str, int]
    baseline: Experiment | None
    champion: Experiment | None
    confirmed_gain: float | None
    diffs: frozenset[int] = frozenset()
    has_chart: bool = True


def escape_markdown(text: str | None, limit: int = _CELL_LIMIT) -> str:
    """`text` on one line as plain words in Markdown and in the HTML made of it."""
    return _SPECIAL.sub(lambda found: _ENTITIES.get(found[0], "\\" + found[0]), one_line(text, limit))


def source_links(sources: Iterable[str]) -> str:
    """Web addresses as numbered links, anything else as text."""
    return " ".join(_source(number, source) for number, source in enumerate(sources, start=1))


def _source(number: int, source: str) -> str:
    address = one_line(source)
    if not _is_web_address(address):
        return escape_markdown(source)
    # Brackets, quotes and pipes would end the link or the cell; percent signs are kept, they are escapes already.
    return f"[{number}]({quote(address, safe=':/?#@!&=+,;%~-._')})"


def _is_web_address(address: str) -> bool:
    try:
        parts = urlsplit(address)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname) and len(address) <= _URL_LIMIT


def summary_markdown(summary: Summary) -> str:
    """SUMMARY.md as text: the run in five lines, its chart, one row an experiment in the order of the ledger."""
    lines = [f"# autoresearch run {escape_markdown(summary.tag)}", "", *_facts(summary), ""]
    if summary.has_chart:
        lines += [
            "<picture>",
            '  <source media="(prefers-color-scheme: dark)" srcset="progress-dark.png">',
            '  <img alt="every experiment by status, and the gain per context length" src="progress.png">',
            "</picture>",
            "",
        ]
    lines += [
        "| id | commit | status | score | why | agent | hypothesis | sources |",
        "|--:|---|---|--:|---|---|---|---|",
        *(_row(row, summary) for row in summary.rows),
    ]
    return "\n".join(lines) + "\n"


def _facts(summary: Summary) -> Iterator[str]:
    counts = ", ".join(f"{count} {status}" for status, count in summary.counts.items())
    yield f"- experiments: {len(summary.rows)}" + (f" ({counts})" if counts else "")
    yield f"- baseline: {_named(summary.baseline)}"
    yield f"- best: {_named(summary.champion)} (the newest kept one, never the maximum of noisy scores)"
    if summary.confirmed_gain is not None:
        yield f"- gain along the kept chain: {gain_text(1 + summary.confirmed_gain)}"
    yield "- score: time of the reference / time of the kernel in the same run, geomean over the context lengths"


def _named(row: Experiment | None) -> str:
    if row is None:
        return "none"
    score = f"{score_text(row.score)}x of the reference" if row.score is not None else "no score"
    return f"**#{row.id}** {score} at {_commit(row)}: {escape_markdown(row.hypothesis)}"


def _commit(row: Experiment) -> str:
    commit = (row.commit or "").strip()
    return f"`{commit}`" if _COMMIT.fullmatch(commit) else escape_markdown(commit, 40) or DASH


def _row(row: Experiment, summary: Summary) -> str:
    cells = [
        str(row.id),
        f"[{_commit(row)}](diffs/{row.id}.diff)" if row.id in summary.diffs else _commit(row),
        row.status.value,
        score_text(row.score),
        escape_markdown(row.reason),
        escape_markdown(row.agent, 60),
        escape_markdown(row.hypothesis),
        source_links(row.sources),
    ]
    return "| " + " | ".join(cell or DASH for cell in cells) + " |"
