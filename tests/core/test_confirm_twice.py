"""`screen` and `decide`, written twice and apart from the same text, say the same about 100,000 random cases each.

The normal run compares fewer of them, the slow one all.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from random_rounds import decide_case, screen_case
from second_confirm import Decided, Screened, second_decide, second_screen

from mjolnir.core.confirm import decide, screen

SEED = 20250311
LEAST_PER_CLAUSE = 10

counts = pytest.mark.parametrize("cases", [30_000, pytest.param(100_000, marks=pytest.mark.slow)])

# The text gives thresholds and no rounding: nearer than this, either side is a right answer.
EDGE = 1e-9

SCREEN_CLAUSES = {
    "1 fail",
    "1 not pass",
    "2 no score",
    "3 bad score",
    "3 bad best score",
    "3 no best",
    "3 plain keep",
    "3 plain discard",
    "4 key in per_L",
    "4 value in per_L",
    "4 shape in per_L",
    "4 twice in per_L",
    "4 key in fi_us",
    "4 value in fi_us",
    "4 shape in fi_us",
    "4 twice in fi_us",
    "4 row lacks an L",
    "4 best lacks an L",
    "ratio out of range",
    "more than max_set_aside",
    "fewer than 3/4 trusted",
    "too small",
    "go on",
}
DECIDE_CLAUSES = {
    "shape",
    "key",
    "pair",
    "value",
    "twice",
    "ratio out of range",
    "unequal L",
    "no L",
    "round 1",
    "round 1 more",
    "round 2 m",
    "round 2 t",
    "round 2 slower",
    "round 2 more",
    "round 2 keep",
    "round 3 m",
    "round 3 t",
    "round 3 slower",
    "round 3 deep",
    "round 3 keep",
}


def difference(one: Any, other: Screened | Decided, exact: tuple[str, ...], floats: tuple[str, ...]) -> str:
    """Empty when both say the same; else the first field that differs, with both values."""
    for name in exact:
        if getattr(one, name) != getattr(other, name):
            return f"{name}: {getattr(one, name)!r} against {getattr(other, name)!r}"
    for name in floats:
        if not close(getattr(one, name), getattr(other, name)):
            return f"{name}: {getattr(one, name)!r} against {getattr(other, name)!r}"
    return ""


def close(one: float | None, other: float | None) -> bool:
    if one is None or other is None:
        return one is other
    return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)


def compare_screen(rng: random.Random) -> tuple[str, Screened, str]:
    row, best, keywords = screen_case(rng)
    answer = second_screen(row, best, **keywords)
    case = f"{row=}\n  {best=}\n  {keywords=}"
    try:
        said = screen(row, best, **keywords)
    except Exception as error:  # noqa: BLE001 (nothing here raises on data: whatever comes is a finding)
        return f"raised {error!r}", answer, case
    return difference(said, answer, ("status", "rule", "set_aside"), ("gain",)), answer, case


def compare_decide(rng: random.Random) -> tuple[str, Decided, str]:
    rounds, keywords = decide_case(rng)
    answer = second_decide(rounds, **keywords)
    case = f"{rounds=}\n  {keywords=}"
    try:
        said = decide(rounds, **keywords)
    except Exception as error:  # noqa: BLE001 (as above)
        return f"raised {error!r}", answer, case
    exact, floats = ("status", "rule", "slower", "deep", "more"), ("gain", "m", "se")
    # Where all rounds are equal and there is no floor, se is nothing but rounding, and so is t.
    if answer.se is None or answer.se > EDGE:
        floats += ("t",)
    return difference(said, answer, exact, floats), answer, case


def compare_many(compare: Callable[[random.Random], Any], clauses: set[str], seed: int, cases: int) -> None:
    rng = random.Random(seed)
    seen: Counter[str] = Counter()
    apart = []
    for number in range(cases):
        problem, answer, case = compare(rng)
        seen[answer.clause] += 1
        if problem and answer.distance > EDGE:
            apart.append(f"case {number} ({answer.clause}, {answer.distance:.1e} off): {problem}\n  {case}")
    assert not apart, f"{len(apart)} of {cases} cases differ, first against second:\n" + "\n".join(apart[:20])
    assert {clause: seen[clause] for clause in clauses if seen[clause] < LEAST_PER_CLAUSE} == {}
    assert set(seen) == clauses


@counts
def test_both_screens_agree_on_random_rows(cases):
    compare_many(compare_screen, SCREEN_CLAUSES, SEED, cases)


@counts
def test_both_decisions_agree_on_random_confirmations(cases):
    compare_many(compare_decide, DECIDE_CLAUSES, SEED + 1, cases)


@pytest.mark.parametrize("attempt", [0, 3, -1])
def test_an_attempt_that_the_rule_does_not_know_is_an_error_of_both(attempt):
    for one in (decide, second_decide):
        with pytest.raises(ValueError, match="attempt"):
            one([{128: (1.0, 1.0)}], attempt=attempt)


def test_more_than_three_rounds_are_an_error_of_both():
    for one in (decide, second_decide):
        with pytest.raises(ValueError, match="rounds"):
            one([{128: (1.0, 1.0)}] * 4)


def test_no_round_at_all_is_bad_numbers_to_both():
    assert [(one([]).status, one([]).rule) for one in (decide, second_decide)] == [("invalid", "bad_numbers")] * 2
