"""Text that others wrote (git, a damaged file, an agent) on its way into a one-line message."""

from __future__ import annotations


def one_line(text: str, max_chars: int = 300) -> str:
    """`text` in one line: runs of blanks become one, what cannot be printed becomes '?', the end is cut off."""
    line = " ".join(text.split())
    shown = "".join(c if c.isprintable() else "?" for c in line[: max_chars + 1])
    return shown if len(shown) <= max_chars else shown[:max_chars] + "..."
