"""Triton's interpreter, once corrected, computes with the numbers that bf16 and fp8 stand for, not with their codes."""

from __future__ import annotations

import float_codes as codes
import numpy as np
import pytest
from float_codes import FP8_TYPES, integers


def random_bf16(count, seed):
    """Codes of ordinary numbers, with zeros, infinities, NaN and denormals among them."""
    rng = np.random.default_rng(seed)
    found = codes.to_bf16((rng.standard_normal(count) * 2.0 ** rng.integers(-20, 20, count)).astype(np.float32))
    special = np.array([0, 0x8000, 0x7F80, 0xFF80, 0x7FC0, 0x0001, 0x807F, 0x7F7F, 0x3F80], np.uint16)
    at = rng.choice(count, count // 8, replace=False)
    found[at] = rng.choice(special, at.size)
    return found


ELEMENTWISE = {
    "add": lambda u, v, w: u + v,
    "subtract": lambda u, v, w: u - v,
    "multiply": lambda u, v, w: u * v,
    "divide": lambda u, v, w: u / v,
    "minimum": lambda u, v, w: np.fmin(u, v),
    "maximum": lambda u, v, w: np.fmax(u, v),
    "select": lambda u, v, w: np.where(u < v, u, w),
    "abs": lambda u, v, w: np.abs(u),
    "negate": lambda u, v, w: -u,
    "clamp": lambda u, v, w: np.fmin(np.fmax(u, np.fmin(v, w)), np.fmax(v, w)),
}
COMPARISONS = {
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
    "==": np.equal,
    "!=": np.not_equal,
}


@pytest.mark.parametrize("op", ELEMENTWISE)
def test_elementwise_arithmetic_on_bf16_is_on_its_numbers(op, interpreted):
    a, b, c = (random_bf16(4096, seed) for seed in (1, 2, 3))
    answer = interpreted("arithmetic:elementwise", a=a, b=b, c=c, op=op)
    with np.errstate(all="ignore"):
        wanted = codes.to_bf16(ELEMENTWISE[op](*(codes.bf16(x) for x in (a, b, c))))
    wrong = codes.differing(codes.bf16(answer), codes.bf16(wanted))
    any_zero = op in ("minimum", "maximum", "clamp", "negate")  # which of two zeros is left open
    wrong = [i for i in wrong if not (any_zero and codes.bf16(wanted)[i] == codes.bf16(answer)[i] == 0)]
    assert [(hex(a[i]), hex(b[i]), hex(c[i]), hex(answer[i]), hex(wanted[i])) for i in wrong] == []


def test_a_bf16_fma_rounds_once(interpreted):
    a, b, c = (random_bf16(4096, seed) for seed in (4, 5, 6))
    answer = interpreted("arithmetic:elementwise", a=a, b=b, c=c, op="fma")
    with np.errstate(all="ignore"):
        exact = codes.bf16(a).astype(float) * codes.bf16(b).astype(float) + codes.bf16(c).astype(float)
        neighbours = [codes.bf16(answer + np.uint16(step)).astype(float) for step in (1, 65535)]
        got = codes.bf16(answer).astype(float)
        farther = [np.abs(other - exact) < np.abs(got - exact) for other in neighbours]
    assert np.flatnonzero(np.isfinite(got) & (farther[0] | farther[1])).tolist() == []
    assert np.array_equal(np.isnan(got), np.isnan(exact))


@pytest.mark.parametrize("op", COMPARISONS)
def test_bf16_is_compared_by_its_numbers(op, interpreted):
    a, b = random_bf16(4096, 7), random_bf16(4096, 8)
    b[:512] = a[:512]
    answer = interpreted("arithmetic:compare", a=a, b=b, op=op)
    assert np.array_equal(answer.astype(bool), COMPARISONS[op](codes.bf16(a), codes.bf16(b)))


@pytest.mark.parametrize("name", ["bf16", "e4m3"])
def test_a_dot_is_the_sum_of_the_products_of_its_numbers(name, interpreted):
    a, x = integers(name, (16, 64), 1)
    b, y = integers(name, (64, 32), 2)
    c = np.random.default_rng(3).integers(-99, 99, (16, 32)).astype(np.float32)
    answer = interpreted("arithmetic:dot", a=a, b=b, c=c, dtype=name)
    assert np.array_equal(answer, c + x @ y)


@pytest.mark.parametrize("name", ["bf16", "e4m3", "e5m2"])
def test_a_dot_over_the_whole_range_of_its_type_is_near_float64(name, interpreted):
    rng = np.random.default_rng(9)
    if name == "bf16":
        a, b = (codes.to_bf16(rng.standard_normal(s).astype(np.float32) * 1e3) for s in ((16, 64), (64, 32)))
        x, y = (codes.bf16(m).astype(float) for m in (a, b))
    else:
        read, largest = FP8_TYPES[name]
        finite = np.array([*range(largest + 1), *range(0x80, 0x81 + largest)], np.uint8)
        a, b = rng.choice(finite, (16, 64)), rng.choice(finite, (64, 32))
        x, y = (np.vectorize(read)(m) for m in (a, b))
    answer = interpreted("arithmetic:dot", a=a, b=b, c=np.zeros((16, 32), np.float32), dtype=name)
    assert (np.abs(answer - x @ y) <= 1e-6 * (np.abs(x) @ np.abs(y))).all()


@pytest.mark.parametrize("name", ["bf16", "e4m3", "e5m2"])
@pytest.mark.parametrize("op", ["max", "min", "sum in f32"])
def test_a_reduction_is_over_numbers(op, name, interpreted):
    x, numbers = integers(name, (8, 64), 4)
    answer = interpreted("arithmetic:reduce", codes=x, op=op, dtype=name).view(np.float32)
    wanted = {"max": np.max, "min": np.min, "sum in f32": np.sum}[op](numbers, axis=1)
    assert answer.tolist() == wanted.tolist()


def test_a_dot_with_one_nan_in_a_row_makes_the_whole_row_nan(interpreted):
    a, b = np.full((16, 64), 0x38, np.uint8), np.full((64, 16), 0x38, np.uint8)
    a[3, 17] = 0x7F
    answer = interpreted("arithmetic:dot", a=a, b=b, c=np.zeros((16, 16), np.float32), dtype="e4m3")
    assert np.isnan(answer[3]).all()
    assert (np.delete(answer, 3, axis=0) == 64).all()


@pytest.mark.parametrize("exact", [True, False], ids=["corrected", "uncorrected"])
def test_without_the_corrections_the_codes_of_bf16_are_added_and_multiplied(exact, interpreted):
    one, two = (np.full((16, 16), codes.to_bf16(np.array([n], np.float32))[0]) for n in (1.0, 2.0))
    dot = interpreted("arithmetic:dot", a=one, b=two, c=np.zeros((16, 16), np.float32), dtype="bf16", exact=exact)
    total = interpreted("arithmetic:elementwise", a=one[0], b=two[0], c=two[0], op="add", exact=exact)
    assert ((dot == 32.0).all(), (codes.bf16(total) == 3.0).all()) == (exact, exact)
