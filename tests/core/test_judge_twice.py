"""Two implementations of the keep rule, written apart from the same text, say the same about 100,000 random rows."""

from __future__ import annotations

import json
import math
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from random_rows import random_case, random_lengths, random_references, random_relative
from second_judge import Answer, second_judge

from mjolnir.core.judge import judge
from mjolnir.core.model import Experiment, Status

SEED = 20240817
ROWS = 100_000
LEAST_PER_CLAUSE = 200

RULES = (
    "starting_kernel",
    "stage_failed",
    "incorrect",
    "bad_numbers",
    "partial_sweep",
    "reference_unstable",
    "gain_too_small",
    "rests_on_one_length",
    "slower_at_several",
    "gain",
)
CLAUSES = (
    "1 fail",
    "1 not pass",
    "2 no score",
    "3 bad score",
    "3 no best",
    "3 bad best score",
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
    "4 both lack a required L",
    "4 row lacks an L",
    "4 best lacks an L",
    "5 ratio out of range",
    "6 unstable",
    "6 nothing trusted",
    "7 too small",
    "8 only one L",
    "8 rests on one",
    "9 slower",
    "10 keep",
    "7 too small, unchecked",
    "8 only one L, unchecked",
    "8 rests on one, unchecked",
    "9 slower, unchecked",
    "10 keep, unchecked",
)


def difference(verdict: Any, answer: Answer) -> str:
    """Empty when both say the same; else the first field that differs, with both values."""
    for name in ("status", "rule", "set_aside"):
        if getattr(verdict, name) != getattr(answer, name):
            return f"{name}: {getattr(verdict, name)!r} against {getattr(answer, name)!r}"
    if not close(verdict.gain, answer.gain):
        return f"gain: {verdict.gain!r} against {answer.gain!r}"
    if dict(verdict.relative).keys() != answer.relative.keys() or not all(
        close(verdict.relative[length], value) for length, value in answer.relative.items()
    ):
        return f"relative: {dict(verdict.relative)!r} against {answer.relative!r}"
    for phrase in answer.phrases:
        if phrase not in verdict.reason:
            return f"reason: {verdict.reason!r} lacks {phrase!r}"
    if answer.set_aside and "(reference not checked)" in verdict.reason:
        return f"reason: {verdict.reason!r}, though the reference of {answer.set_aside} was checked"
    return ""


def close(one: float | None, other: float | None) -> bool:
    if one is None or other is None:
        return one is other
    return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)


def compare(row: Any, best: Any, keywords: dict[str, Any]) -> tuple[str, Answer]:
    answer = second_judge(row, best, **keywords)
    try:
        verdict = judge(row, best, **keywords)
    except Exception as error:  # noqa: BLE001 (judge raises on no row at all: whatever comes is a finding)
        return f"raised {error!r}", answer
    return difference(verdict, answer), answer


def test_both_implementations_agree_on_100_000_random_rows():
    rng = random.Random(SEED)
    rules: Counter[str] = Counter()
    clauses: Counter[str] = Counter()
    apart = []
    for number in range(ROWS):
        row, best, keywords = random_case(rng)
        problem, answer = compare(row, best, keywords)
        rules[answer.rule] += 1
        clauses[answer.clause] += 1
        if problem:
            apart.append(f"row {number} ({answer.clause}): {problem}\n  {row=}\n  {best=}\n  {keywords=}")
    assert not apart, f"{len(apart)} of {ROWS} rows differ, judge against second_judge:\n" + "\n".join(apart[:20])
    assert {rule: rules[rule] for rule in RULES if rules[rule] < LEAST_PER_CLAUSE} == {}
    assert {clause: clauses[clause] for clause in CLAUSES if clauses[clause] < LEAST_PER_CLAUSE} == {}
    assert set(rules) == set(RULES)
    assert set(clauses) == set(CLAUSES)


def test_typed_rows_are_judged_as_their_mappings():
    rng = random.Random(SEED + 1)
    for _ in range(500):
        lengths = random_lengths(rng)
        old, new = random_references(rng, lengths)
        relative = random_relative(rng, lengths, 0.02, 0.03)
        best = typed({"per_L": {str(length): 1.1 for length in lengths}, "fi_us": {str(k): v for k, v in old.items()}})
        row = typed(
            {"per_L": {str(k): 1.1 * v for k, v in relative.items()}, "fi_us": {str(k): v for k, v in new.items()}}
        )
        problem, _ = compare(row, best, {})
        assert problem == ""


def typed(figures: dict[str, Any]) -> Experiment:
    return Experiment(id=1, ts="", status=Status.DISCARD, score=1.1, correctness="pass", **figures)


def test_a_min_gain_below_zero_is_refused_by_both_whatever_else_is_given():
    rng = random.Random(SEED + 2)
    for _ in range(500):
        row, best, keywords = random_case(rng)
        keywords["min_gain"] = rng.choice((-1e-12, -0.02, -1, -math.inf))
        for one in (judge, second_judge):
            with pytest.raises(ValueError, match="min_gain"):
                one(row, best, **keywords)


def read_vectors() -> list[dict[str, Any]]:
    path = Path(__file__).parents[1] / "vectors" / "judge.json"
    return from_json(json.loads(path.read_text(encoding="utf-8")))["vectors"]


def from_json(value: Any) -> Any:
    """{"$float": "nan"} is a float that JSON cannot hold; a key "$int:128" is the integer key 128."""
    if isinstance(value, list):
        return [from_json(item) for item in value]
    if not isinstance(value, dict):
        return value
    if set(value) == {"$float"}:
        return float(value["$float"])
    return {
        int(key.removeprefix("$int:")) if key.startswith("$int:") else key: from_json(item)
        for key, item in value.items()
    }


@pytest.mark.parametrize("vector", read_vectors(), ids=lambda vector: vector["name"])
def test_the_second_implementation_gives_the_right_verdict_of_each_vector(vector):
    keywords = {key: vector[key] for key in ("min_gain", "noise", "required") if key in vector}
    if vector["status"] == "error":
        with pytest.raises(ValueError, match="min_gain"):
            second_judge(vector["row"], vector["best"], **keywords)
        return
    answer = second_judge(vector["row"], vector["best"], **keywords)
    assert (answer.status, answer.rule) == (vector["status"], vector["rule"])
