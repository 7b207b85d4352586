"""The table on the terminal and the file of results."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from figure import Figure

SCHEMA = "mjolnir.bench/1"
_HEADS = ("figure", "unit", "ours", "peer", "ratio", "bound", "ok", "spread of the bounded value")


def table(figures: Sequence[Figure], *, is_judged: bool = True) -> str:
    """One line a figure, columns aligned; `*` marks the number that the bound is on."""
    rows = [_HEADS, *(_row(figure, is_judged) for figure in figures)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADS))]
    left = {0, 1, len(_HEADS) - 1}
    lines = [
        "  ".join(
            cell.ljust(width) if n in left else cell.rjust(width)
            for n, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]
    rule = "  ".join("-" * width for width in widths)
    return "\n".join([lines[0].rstrip(), rule, *(line.rstrip() for line in lines[1:])])


def _row(figure: Figure, is_judged: bool) -> tuple[str, ...]:
    ratio = "" if figure.ratio is None else f"{figure.ratio:.3f}"
    ours = _number(median(figure.ours))
    samples = figure.samples
    return (
        figure.name,
        figure.unit,
        ours if figure.is_ratio else f"{ours}*",
        _number(median(figure.peer)) if figure.peer else "",
        f"{ratio}*" if figure.is_ratio else ratio,
        f"{'>=' if figure.at_least else '<='} {figure.bound:g}",
        ("yes" if figure.ok else "NO") if is_judged else "-",
        f"{_number(min(samples))} .. {_number(max(samples))} (n={len(samples)})",
    )


def _number(value: float) -> str:
    return f"{value:.4f}" if abs(value) < 0.1 else f"{value:.3f}" if abs(value) < 10 else f"{value:.1f}"


def head(machine: dict[str, Any], commit: str, peer: str) -> str:
    """The lines above the table: what was measured, against what, where."""
    return "\n".join(
        (
            f"commit   {commit}",
            f"peer     {peer}",
            f"machine  {machine['cpu']}, {machine['cores']} cores, {machine['memory_gib']} GiB, "
            f"{machine['system']} {machine['kernel']} {machine['arch']}, {machine['python']}",
            f"load     {machine['load_at_start']['1m']} (1 min) when it began",
        )
    )


def write_results(path: Path, figures: Sequence[Figure], about: dict[str, Any]) -> None:
    """One JSON object. A run of the same day on the same machine replaces the one before."""
    answer = {"schema": SCHEMA, **about, "figures": [figure.as_json() for figure in figures]}
    path.write_text(json.dumps(answer, indent=1) + "\n", encoding="utf-8")
