"""The keep rule `judge`, written a second time from the text of the design alone.

It was written without reading `mjolnir.core.judge`, is plain on purpose, follows the order of the text, and shares
nothing with the package, not even the parsing of a length. "Reading:" marks each place where the text leaves a choice.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

DIGITS = "0123456789"
LONGEST_L_TOKENS = 16 * 1024 * 1024


@dataclass
class Answer:
    """What this second judge says. `clause` names the branch that decided, `phrases` what a reason must contain."""

    status: str
    rule: str
    clause: str
    phrases: tuple[str, ...] = ()
    gain: float | None = None
    relative: dict[int, float] = field(default_factory=dict)
    set_aside: tuple[int, ...] = ()


def second_judge(row: Any, best: Any, *, min_gain: float = 0.02, noise: float = 0.03, required: Any = None) -> Answer:
    """The verdict on `row` against `best`. Raises ValueError when min_gain is below 0, whatever else is given."""
    if min_gain < 0:
        raise ValueError("min_gain is below 0")
    answer = steps_1_to_3(row, best, min_gain)
    if answer is not None:
        return answer
    return steps_4_to_10(row, best, min_gain, noise, required)


def steps_1_to_3(row: Any, best: Any, min_gain: float) -> Answer | None:
    score = value_of(row, "score")
    correctness = value_of(row, "correctness")

    # 1
    if correctness == "fail":
        return Answer("discard", "incorrect", "1 fail", ("correctness failed",))
    if score is not None and correctness != "pass":
        return Answer("discard", "incorrect", "1 not pass", ("correctness failed",))

    # 2
    if score is None:
        return Answer("crash", "stage_failed", "2 no score", ("no score (a stage failed)",))

    # 3
    if not finite_and_positive(score):
        return Answer("invalid", "bad_numbers", "3 bad score")
    if best is None:
        return Answer("baseline", "starting_kernel", "3 no best", ("the starting kernel",))
    if has_nothing(value_of(best, "per_L")):
        return plain_rule(score, value_of(best, "score"), min_gain)
    return None


def plain_rule(score: float, best_score: Any, min_gain: float) -> Answer:
    # Reading: the score of the best row is looked at only here, where it is used.
    if not finite_and_positive(best_score):
        return Answer("invalid", "bad_numbers", "3 bad best score")
    # Reading: the gain stays empty here, since it is defined as a geomean over L.
    if score > best_score * (1 + min_gain):
        return Answer("keep", "gain", "3 plain keep", ("(no per-L reference)",))
    return Answer("discard", "gain_too_small", "3 plain discard", ("(no per-L reference)",))


def steps_4_to_10(row: Any, best: Any, min_gain: float, noise: float, required: Any) -> Answer:
    # 4
    tables = []
    for side in (row, best):
        for name in ("per_L", "fi_us"):
            table = by_length(value_of(side, name))
            if isinstance(table, str):
                return Answer("invalid", "bad_numbers", f"4 {table} in {name}")
            tables.append(table)
    row_per_l, row_reference, best_per_l, best_reference = tables

    missing = what_is_missing(row_per_l, best_per_l, required)
    if missing:
        return Answer("discard", "partial_sweep", missing)

    # 5
    relative = {}
    for length in sorted(row_per_l):
        relative[length] = row_per_l[length] / best_per_l[length]
        # Reading: two good numbers whose ratio leaves the range of a float are bad numbers too.
        if not finite_and_positive(relative[length]):
            return Answer("invalid", "bad_numbers", "5 ratio out of range")
    return steps_6_to_10(relative, row_reference, best_reference, min_gain, noise)


def what_is_missing(row_per_l: dict[int, float], best_per_l: dict[int, float], required: Any) -> str:
    """Reading: the L of a row are those of its per_L; a reference time alone neither asks for an L nor gives it."""
    needed = set(row_per_l) | set(best_per_l)
    for key in required or ():
        length = length_of(key)
        if length is None:
            # Reading: `required` is the caller's, not a ledger's; a wrong one is an error and no verdict.
            raise ValueError("required holds a key that is no length")
        needed.add(length)
    for length in sorted(needed):
        if length not in row_per_l and length not in best_per_l:
            return "4 both lack a required L"
        if length not in row_per_l:
            return "4 row lacks an L"
        if length not in best_per_l:
            return "4 best lacks an L"
    return ""


def by_length(table: Any) -> dict[int, float] | str:
    """{tokens: value}, or what is wrong with it: "key", "value", "shape" or "twice"."""
    if has_nothing(table):
        return {}
    if not isinstance(table, Mapping):
        return "shape"
    found: dict[int, float] = {}
    for key, value in table.items():
        length = length_of(key)
        if length is None:
            return "key"
        if not finite_and_positive(value):
            return "value"
        # Reading: one L under two keys with two values has no answer that is the same in every order of the keys.
        if length in found and found[length] != value:
            return "twice"
        found[length] = value
    return found


def steps_6_to_10(
    relative: dict[int, float],
    row_reference: dict[int, float],
    best_reference: dict[int, float],
    min_gain: float,
    noise: float,
) -> Answer:
    # 6. Reading: an L without a reference time on one of the sides has not moved, so it stays trusted.
    set_aside = []
    for length in relative:
        if length in row_reference and length in best_reference:
            new = row_reference[length]
            old = best_reference[length]
            if abs(new / old - 1) > 0.15 + 1e-9:
                set_aside.append(length)
    trusted = {length: value for length, value in relative.items() if length not in set_aside}

    if len(set_aside) > 2:
        answer = Answer("noisy", "reference_unstable", "6 unstable", ("reference unstable at", "re-evaluate"))
    elif not trusted:
        # Reading: with one or two L, all of them set aside, there is nothing to take a geomean of.
        answer = Answer("noisy", "reference_unstable", "6 nothing trusted")
    else:
        answer = steps_7_to_10(trusted, min_gain, noise)
        answer.gain = geomean(list(trusted.values())) - 1
        if not row_reference or not best_reference:
            answer.clause += ", unchecked"
            answer.phrases = (*answer.phrases, "(reference not checked)")
    answer.relative = relative
    answer.set_aside = tuple(sorted(set_aside))
    return answer


def steps_7_to_10(trusted: dict[int, float], min_gain: float, noise: float) -> Answer:
    # 7
    if geomean(list(trusted.values())) <= 1 + min_gain + 1e-9:
        return Answer("discard", "gain_too_small", "7 too small", ("geomean",))

    # 8. Reading: when only one L is trusted nothing is left without it, and nothing beats nothing.
    values = sorted(trusted.values())
    without_the_best = values[:-1]
    if not without_the_best:
        return Answer("discard", "rests_on_one_length", "8 only one L", ("rests on",))
    if not geomean(without_the_best) > 1 + min_gain / 2:
        return Answer("discard", "rests_on_one_length", "8 rests on one", ("rests on",))

    # 9
    slower = 0
    for value in trusted.values():
        if value < 1 - noise:
            slower += 1
    if slower > 1:
        return Answer("discard", "slower_at_several", "9 slower", ("slower at",))

    # 10
    return Answer("keep", "gain", "10 keep")


def value_of(row: Any, key: str) -> Any:
    """The value under a ledger key of a mapping or a typed row; None where it is absent."""
    if isinstance(row, Mapping):
        return row.get(key)
    return getattr(row, key, None)


def has_nothing(table: Any) -> bool:
    """Absent, null and {} all say: no such figures."""
    return table is None or table == {}


def finite_and_positive(value: Any) -> bool:
    """Reading: true and "1.2" are no numbers; an int too large for a float is not finite."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    try:
        number = float(value)
    except OverflowError:
        return False
    return number > 0 and number != math.inf


def length_of(key: Any) -> int | None:
    """4096 for 4096, "4096", "4K" and "4k"; None for what is no length."""
    if isinstance(key, bool):
        return None
    if isinstance(key, int):
        tokens = key
    elif isinstance(key, str):
        digits = key.strip()
        unit = 1
        if digits[-1:] in ("k", "K"):
            digits, unit = digits[:-1], 1024
        elif digits[-1:] in ("m", "M"):
            digits, unit = digits[:-1], 1024 * 1024
        if not 1 <= len(digits) <= 9:
            return None
        for letter in digits:
            if letter not in DIGITS:
                return None
        tokens = int(digits) * unit
    else:
        return None
    if tokens < 1 or tokens > LONGEST_L_TOKENS:
        return None
    return tokens


def geomean(values: list[float]) -> float:
    total = 0.0
    for value in values:
        total += math.log(value)
    return math.exp(total / len(values))
