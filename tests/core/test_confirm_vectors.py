"""screen and decide give the answers that were worked out by hand from the text."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mjolnir.core.confirm import decide, screen

SCREEN_OPTIONS = ("reference_jump", "max_set_aside", "pass_gain")
DECIDE_OPTIONS = ("min_gain", "attempt", "se_floor")
NUMBERS = ("gain", "m", "se", "t")


def from_vector(value):
    """{"$float": "nan"} is a float that JSON has no word for."""
    if isinstance(value, list):
        return [from_vector(v) for v in value]
    if not isinstance(value, dict):
        return value
    return float(value["$float"]) if set(value) == {"$float"} else {k: from_vector(v) for k, v in value.items()}


VECTORS = from_vector(json.loads((Path(__file__).parents[1] / "vectors" / "confirm.json").read_text()))


def check(answer, vector, fields):
    assert tuple(getattr(answer, k) for k in fields) == tuple(vector[k] for k in fields)
    for name in NUMBERS:
        if name in vector:
            assert getattr(answer, name) == pytest.approx(vector[name], rel=1e-9, abs=1e-9), name


@pytest.mark.parametrize("vector", VECTORS["screen"], ids=lambda v: v["name"])
def test_every_screening_vector_comes_out_right(vector):
    options = {k: vector[k] for k in SCREEN_OPTIONS if k in vector}
    answer = screen(vector["row"], vector["best"], **options)
    check(answer, vector, ("status", "rule"))
    assert answer.set_aside == tuple(vector["set_aside"])


@pytest.mark.parametrize("vector", VECTORS["decide"], ids=lambda v: v["name"])
def test_every_confirmation_vector_comes_out_right(vector):
    options = {k: vector[k] for k in DECIDE_OPTIONS if k in vector}
    if vector["status"] == "error":
        with pytest.raises(ValueError, match=r"attempt|rounds|min_gain|se_floor"):
            decide(vector["rounds"], **options)
        return
    answer = decide(vector["rounds"], **options)
    check(answer, vector, ("status", "rule", "more"))
    assert (answer.slower, answer.deep) == (tuple(vector["slower"]), tuple(vector["deep"]))


def test_every_vector_has_a_name_of_its_own():
    for vectors in (VECTORS["screen"], VECTORS["decide"]):
        assert len({v["name"] for v in vectors}) == len(vectors) > 40
