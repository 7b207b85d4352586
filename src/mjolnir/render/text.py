"""Foreign text (hypotheses, agents, git, logs) made safe to show: data, never markup, never terminal commands."""

from __future__ import annotations

import re

_ESCAPE_SEQUENCE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor, erase
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)"  # OSC and its like: titles, links
    r"|\x1b[ -/]*[0-~]"  # the short ones
)
_CARRIAGE = re.compile("\r\n?|[\u2028\u2029\x85\x0b\x0c]")
_UNSAFE = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x9f"  # control characters but tab and newline
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # marks that reorder what stands beside them
    "\u200b\u2060-\u2064\ufeff\U000e0000-\U000e007f]"  # characters that hide text from a reader
)
_SURROGATE = re.compile("[\ud800-\udfff]")
_BLANKS = re.compile(r"\s+")
_CELLS_PER_KEPT = 8
"""A line is cut to this many characters a cell before it is cleaned: a megabyte of text costs what its start costs."""


def clean(text: str) -> str:
    """`text` without escape sequences, control characters, bidi overrides and hidden characters.

    Newlines (every form becomes one `\\n`) and tabs stay; lone surrogates become the replacement character.
    """
    text = _ESCAPE_SEQUENCE.sub("", text)
    text = _UNSAFE.sub("", _CARRIAGE.sub("\n", text))
    return _SURROGATE.sub("\ufffd", text)


def one_line(text: str | None, limit: int = 0) -> str:
    """`text` cleaned, every run of white space one space; beyond `limit` characters (0: no limit) it ends in …."""
    if not text:
        return ""
    wanted = text[: limit * _CELLS_PER_KEPT] if limit else text
    line = _BLANKS.sub(" ", clean(wanted)).strip()
    if limit and (len(line) > limit or len(wanted) < len(text)):
        return line[: limit - 1].rstrip() + "…"
    return line


def whole(text: str | None, limit: int) -> str:
    """`text` cleaned, lines kept; beyond `limit` characters it says how much is left out."""
    if not text:
        return ""
    shown = clean(text[:limit]).strip("\n")
    rest = len(text) - limit
    return f"{shown}\n[{rest} more characters]" if rest > 0 else shown


def short_commit(commit: str | None) -> str:
    """The first 12 characters of a commit id, which is foreign text too."""
    return one_line(commit)[:12] if commit else ""
