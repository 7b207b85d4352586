"""Context lengths: "4096", 4096 and "4K" are one L. JSON keys are decimal strings; people see 128, 4K, 256K."""

from __future__ import annotations

import re
from collections.abc import Iterable

_FORM = re.compile(r"([0-9]{1,9})([kKmM]?)")
_UNIT_TOKENS = {"": 1, "k": 1024, "m": 1024 * 1024}
MAX_LENGTH_TOKENS = 16 * 1024 * 1024
"""No context window of today is longer; a larger number is a slip of the keyboard."""


def parse_length(key: object) -> int:
    """The context length in tokens that `key` names: an int, "4096" or "4K".

    Raises ValueError when `key` is no length (bool, float, sign, blank, zero, above MAX_LENGTH_TOKENS).
    """
    if isinstance(key, int) and not isinstance(key, bool):
        tokens = key
    elif isinstance(key, str) and (match := _FORM.fullmatch(key.strip())):
        tokens = int(match[1]) * _UNIT_TOKENS[match[2].lower()]
    else:
        raise ValueError(f"{key!r} is not a context length (128, 4096 or 4K)")
    if not 1 <= tokens <= MAX_LENGTH_TOKENS:
        raise ValueError(f"{key!r} is outside 1 to {MAX_LENGTH_TOKENS} tokens")
    return tokens


def parse_lengths(text: str) -> tuple[int, ...]:
    """The lengths in a list such as "128 4K,16K", ascending and each once. Raises ValueError as `parse_length`."""
    words = re.split(r"[\s,]+", text.strip())
    if words == [""]:
        raise ValueError("no context length given (128, 4096 or 4K)")
    return tuple(sorted({parse_length(word) for word in words}))


def length_label(tokens: int) -> str:
    """What people see: 128, 4K, 256K, 1M."""
    for unit, size in (("M", 1024 * 1024), ("K", 1024)):
        if tokens >= size and tokens % size == 0:
            return f"{tokens // size}{unit}"
    return str(tokens)


def join_labels(lengths: Iterable[int]) -> str:
    """Ascending labels with commas: "4K, 16K"."""
    return ", ".join(length_label(tokens) for tokens in sorted(lengths))
