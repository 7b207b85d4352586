"""What a worker's failure means, in one line for a ledger row. The whole text goes to the log."""

from __future__ import annotations

import re

from mjolnir.sandbox.process import Reply, ReplyKind

_KERNEL_LINE = re.compile(r'File "[^"\n]*kernel\.py", line (\d+)')
_DETAIL_CHARS = 300


def _printable(text: str) -> str:
    """`text` without control characters: it comes from the kernel, and goes to terminals and ledgers."""
    return "".join(c if c.isprintable() or c in "\n\t" else "?" for c in text)


def describe_failure(reply: Reply) -> str:
    """One line: "ValueError: shapes do not match (kernel line 41)"."""
    if reply.kind == ReplyKind.LATE:
        return f"no answer after {reply.seconds:.0f} s (time limit); the worker was killed"
    if reply.kind == ReplyKind.GONE and "signal 9" in reply.text:
        return f"{reply.text}: killed, for memory or because it broke off the conversation"
    lines = [line for line in _printable(reply.text).strip().splitlines() if line.strip()]
    last = lines[-1].strip()[:_DETAIL_CHARS] if lines else reply.kind.name.lower()
    where = _KERNEL_LINE.findall(reply.text)
    return f"{last} (kernel line {where[-1]})" if where else last
