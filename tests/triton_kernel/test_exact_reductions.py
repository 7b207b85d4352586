"""Reductions, scans, integers, scalar conditions and NaN in maxima, in the corrected interpreter."""

from __future__ import annotations

import float_codes as codes
import numpy as np
import pytest
from float_codes import integers

REDUCTIONS = {
    "sum": lambda x: x.sum(axis=1),
    "max": lambda x: x.max(axis=1),
    "min": lambda x: x.min(axis=1),
    "largest cumsum": lambda x: x.cumsum(axis=1).max(axis=1),
}


@pytest.mark.parametrize("op", REDUCTIONS)
def test_a_reduction_of_bf16_in_bf16_is_over_numbers(op, interpreted):
    x, numbers = integers("bf16", (8, 64), 4)
    answer = interpreted("arithmetic:reduce", codes=x, op=op, dtype="bf16", result="bf16")
    assert codes.bf16(answer).tolist() == REDUCTIONS[op](numbers).tolist()


@pytest.mark.parametrize("name", ["bf16", "e4m3"])
def test_the_place_of_the_largest_number_is_found(name, interpreted):
    x, numbers = integers(name, (8, 64), 5)
    answer = interpreted("arithmetic:reduce", codes=x, op="argmax", dtype=name, result="i32")
    assert answer.tolist() == numbers.argmax(axis=1).tolist()


def test_an_integer_becomes_the_bf16_number_and_not_the_code(interpreted):
    numbers = np.array([0, 1, -1, 3, 255, 256, 257, -1000, 2**24, -(2**31)], np.int32)
    numbers = np.concatenate([numbers, np.repeat(numbers[-1:], 6)])
    answer = interpreted("arithmetic:convert", codes=numbers.view(np.uint32), source="i32", target="bf16")
    assert codes.bf16(answer).tolist() == codes.bf16(codes.to_bf16(numbers.astype(np.float32))).tolist()


@pytest.mark.parametrize("op", ["minimum", "maximum"])
def test_a_minimum_or_maximum_passes_over_nan_as_the_hardware_does(op, interpreted):
    a, b = codes.f32([np.nan, 1.0, np.nan, 2.0]), codes.f32([1.0, np.nan, np.nan, 2.0])
    answer = interpreted("arithmetic:elementwise", a=a, b=b, c=a, op=op, dtype="f32").view(np.float32)
    assert codes.differing(answer, [1.0, 1.0, np.nan, 2.0]).tolist() == []


def test_a_scalar_condition_is_part_of_a_mask(interpreted):
    written = [*range(1, 9), *[0] * 8]
    assert interpreted("arithmetic:under_scalar_condition", n=4) == written
    assert interpreted("arithmetic:under_scalar_condition", n=5) == [0] * 16
