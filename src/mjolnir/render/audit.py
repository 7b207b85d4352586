"""What `audit` found, for people: one line a finding, how many of each code, a plain verdict last."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rich.text import Text

from mjolnir.core.audit_finding import AuditFinding
from mjolnir.render.text import one_line

MAX_LINES = 200
"""A ledger that was rewritten has a finding in every row: more lines than this tell nobody more."""
_TEXT_LIMIT = 400


def audit_block(run: str, rows: int, findings: Sequence[AuditFinding]) -> Text:
    """Lines, counts, verdict."""
    lines = [_line(finding) for finding in findings[:MAX_LINES]]
    if len(findings) > MAX_LINES:
        lines.append(
            Text(f"... and {len(findings) - MAX_LINES:,} more: mjolnir autoresearch audit --json has them all")
        )
    if findings:
        counts = Counter(finding.code for finding in findings).most_common()
        lines.append(Text("found: " + ", ".join(f"{count:,} {one_line(code, 40)}" for code, count in counts)))
    lines.append(Text(verdict_line(run, rows, findings)))
    return Text("\n").join(lines)


def verdict_line(run: str, rows: int, findings: Sequence[AuditFinding]) -> str:
    """The last line: all is well, or how much is not."""
    what = f"the run {one_line(run, 80)}, {rows:,} {_plural(rows, 'row')}"
    if not findings:
        return f"{what}: nothing found. Chain, copies, commits, documents and every verdict agree."
    count = len(findings)
    return f"{what}: {count:,} {_plural(count, 'finding')}. What these rows say cannot all be believed."


def _line(finding: AuditFinding) -> Text:
    code, hint = one_line(finding.code, 40), one_line(finding.hint, _TEXT_LIMIT)
    line = Text(f"{code}  {one_line(finding.message, _TEXT_LIMIT)}  ({hint})")
    line.stylize("bold red", 0, len(code))
    line.stylize("dim", len(line.plain) - len(hint) - 2)
    return line


def _plural(count: int, word: str) -> str:
    return word if count == 1 else f"{word}s"
