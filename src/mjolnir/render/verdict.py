"""What `evaluate` says to its caller: at most 25 lines, the verdict and the command to type LAST.

An agent's tool keeps the tail of the output and does not see exit codes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rich.text import Text

from mjolnir.core.lengths import join_labels
from mjolnir.core.model import Experiment
from mjolnir.render.length_table import length_lines
from mjolnir.render.number import DASH, score_text
from mjolnir.render.style import STATUS_STYLES
from mjolnir.render.text import one_line, short_commit

MAX_LINES = 25
_MAX_LENGTH_ROWS = 12
_LINE_LIMIT = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictView:
    """One evaluation, told. `kv_bytes` by L in tokens: what a call must read; `bandwidth_gbps` 0: not known.

    `next_text` says what to do, `next_command` what to type (None: nothing to type); `log` is a path to show, `plateau`
    a sentence where the last experiments brought nothing.
    """

    row: Experiment
    champion: Experiment | None = None
    next_text: str = ""
    next_command: str | None = None
    log: str | None = None
    plateau: str = ""
    kv_bytes: Mapping[int, int] = field(default_factory=dict)
    bandwidth_gbps: float = 0.0


def verdict_text(view: VerdictView) -> Text:
    """The whole block, ready to print."""
    row = view.row
    lines = [
        Text(line)
        for line in length_lines(
            row, kv_bytes=view.kv_bytes, bandwidth_gbps=view.bandwidth_gbps, max_rows=_MAX_LENGTH_ROWS
        )
    ]
    lines += [Text(line) for line in _context_lines(view)]
    style = STATUS_STYLES[row.status]
    rule = f" ({one_line(row.rule, 60)})" if row.rule else ""
    reason = f": {one_line(row.reason, _LINE_LIMIT)}" if row.reason else ""
    verdict = Text(f"{style.glyph} {row.status.value.upper()}{rule}{reason}")
    verdict.stylize(style.terminal, 0, len(style.glyph) + 1 + len(row.status.value))
    lines.append(verdict)
    if view.next_text:
        lines.append(Text(f"next: {one_line(view.next_text, _LINE_LIMIT)}"))
    if view.next_command:
        # Never shortened: half a command is worse than none.
        lines.append(Text(f"run:  {one_line(view.next_command)}", style="bold"))
    return Text("\n").join(lines)


def _context_lines(view: VerdictView) -> Sequence[str]:
    row, lines = view.row, []
    if row.score is not None:
        champion = view.champion
        against = f", champion #{champion.id} {score_text(champion.score)}x" if champion is not None else ""
        lines.append(f"score {score_text(row.score)}x of the reference{against}, correctness {row.correctness or DASH}")
    elif row.correctness is not None:
        lines.append(f"correctness {one_line(row.correctness, 20)}, no score")
    if row.set_aside:
        lines.append(f"set aside (the reference moved): {join_labels(row.set_aside)}")
    if row.codes:
        codes = " ".join(one_line(code, 30) for code in row.codes[:6])
        lines.append(f"codes: {codes} (mjolnir explain {one_line(row.codes[0], 30)})")
    lines += [f"note: {one_line(note, _LINE_LIMIT)}" for note in row.notes[:3]]
    if view.log:
        lines.append(f"log: {one_line(view.log)}")
    if view.plateau:
        lines.append(one_line(view.plateau, _LINE_LIMIT))
    lines.append(f"experiment #{row.id} at {short_commit(row.commit) or DASH}: {one_line(row.hypothesis, 120)}")
    return lines
