"""Reads {L: number} mappings of a ledger row, whatever form their keys have, and compares two of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from mjolnir.core.lengths import length_label, parse_length


def positive_number(value: object) -> float | None:
    """`value` as a float when it is a finite number above zero, else None (True, "1.2" and 10**400 are none)."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) and number > 0 else None


def read_per_length(values: Any, name: str) -> dict[int, float]:
    """{L in tokens: number}, ascending, from a row's mapping; empty for a missing one (None).

    "4096", 4096 and "4K" are one L: given twice with one number they count once. Raises ValueError, in words for people
    and beginning with `name`, for anything but a mapping, a key that is no length, a number that is not finite and
    positive, or two forms of one L that disagree.
    """
    if values is None:
        return {}
    if not isinstance(values, Mapping):
        raise ValueError(f"{name} is no mapping of lengths")
    found: dict[int, float] = {}
    for key, value in values.items():
        tokens = _read_key(key, name)
        number = positive_number(value)
        if number is None:
            raise ValueError(f"{name} at {length_label(tokens)} is not finite and positive")
        if found.setdefault(tokens, number) != number:
            raise ValueError(f"{name} has two different numbers for {length_label(tokens)}")
    return dict(sorted(found.items()))


def _read_key(key: object, name: str) -> int:
    try:
        return parse_length(key)
    except ValueError:
        shown = f" {key[:20]!r}" if isinstance(key, str) else ""
        raise ValueError(f"{name} has a key{shown} that is no context length") from None


def divide_per_length(new: Mapping[int, float], old: Mapping[int, float]) -> dict[int, float]:
    """{L: new / old} over the L of both, ascending. A quotient beyond a float is inf or 0.0; callers look."""
    return {tokens: new[tokens] / old[tokens] for tokens in sorted(new) if tokens in old}
