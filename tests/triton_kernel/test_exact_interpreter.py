"""Triton's interpreter computes as the hardware does once it is corrected; each correction is needed."""

from __future__ import annotations

import float_codes as codes
import numpy as np
import pytest
from float_codes import FP8_TYPES

EDGES = [0x0000, 0x0001, 0x007F, 0x0080, 0x3F7F, 0x3F80, 0x3F81, 0x42FF, 0x7F7E, 0x7F7F]
"""Upper halves of float32: zero, denormals, the smallest normal, about 1, about 128, the largest finite."""
BELOW_AND_ABOVE = [0x0000, 0x0001, 0x7FFF, 0x8000, 0x8001, 0xFFFF]


def f32_values(bits):
    return np.asarray(bits, np.uint32).view(np.float32)


def numbers_of(name, found):
    read, _ = FP8_TYPES[name]
    return np.array([read(int(code)) for code in found])


def bf16_edge_values():
    finite = [(sign | high) << 16 | low for sign in (0, 0x8000) for high in EDGES for low in BELOW_AND_ABOVE]
    return f32_values([*finite, 0x7F800000, 0xFF800000, 0x7FC00000, 0x7F800001, 0xFFFFFFFF])


def around_midpoints(name):
    """(float32 values, the codes they round to): each midpoint of two neighbouring codes and both its neighbours."""
    read, largest = FP8_TYPES[name]
    values, wanted = [], []
    for low in range(largest):
        middle = np.float32((read(low) + read(low + 1)) / 2)
        even = low + low % 2
        values += [np.nextafter(middle, np.float32(0)), middle, np.nextafter(middle, np.float32(np.inf))]
        wanted += [low, even, low + 1]
    return np.array([*values, *(-v for v in values)], np.float32), np.array([*wanted, *(w | 0x80 for w in wanted)])


def padded(values):
    """Triton takes powers of 2: the last value again until there is one."""
    size = 1 << (len(values) - 1).bit_length()
    return np.concatenate([values, np.repeat(values[-1:], size - len(values))])


def converted(interpreted, values, *, target, rounding=None, exact=True):
    """float32 `values` as codes of `target`."""
    answer = interpreted(
        "arithmetic:convert",
        codes=codes.f32(padded(values)),
        source="f32",
        target=target,
        rounding=rounding,
        exact=exact,
    )
    return answer[: len(values)]


@pytest.mark.parametrize("name", FP8_TYPES)
@pytest.mark.parametrize("target", ["f32", "bf16"])
def test_every_fp8_code_reads_as_its_number(name, target, interpreted):
    every = np.arange(256, dtype=np.uint8)
    answer = interpreted("arithmetic:convert", codes=every, source=name, target=target)
    read = answer.view(np.float32) if target == "f32" else codes.bf16(answer)
    assert codes.differing(read, numbers_of(name, every)).tolist() == []


def test_every_bf16_code_reads_as_its_number(interpreted):
    every = np.arange(1 << 16, dtype=np.uint32).astype(np.uint16)
    answer = interpreted("arithmetic:convert", codes=every, source="bf16", target="f32")
    assert codes.differing(answer.view(np.float32), codes.bf16(every)).tolist() == []


@pytest.mark.parametrize("name", FP8_TYPES)
def test_float32_rounds_to_the_nearest_fp8_code_and_a_tie_to_the_even_one(name, interpreted):
    values, wanted = around_midpoints(name)
    answer = converted(interpreted, values, target=name)
    wrong = np.flatnonzero(answer != wanted)
    assert [(float(values[i]), int(answer[i]), int(wanted[i])) for i in wrong] == []


@pytest.mark.parametrize("name", FP8_TYPES)
def test_what_fp8_cannot_hold_becomes_its_largest_number(name, interpreted):
    read, largest = FP8_TYPES[name]
    top = read(largest)
    values = np.array([top, top * 1.03, top * 1.1, top * 2, 3e38, np.inf], np.float32)
    answer = converted(interpreted, np.concatenate([values, -values]), target=name)
    assert answer.tolist() == [largest] * 6 + [largest | 0x80] * 6


@pytest.mark.parametrize("name", ["e4m3", "e5m2", "bf16", "f16"])
def test_nan_stays_nan(name, interpreted):
    answer = converted(interpreted, np.array([np.nan, -np.nan], np.float32), target=name)
    back = interpreted("arithmetic:convert", codes=answer, source=name, target="f32")
    assert np.isnan(back.view(np.float32)).all()


def test_float32_rounds_to_the_nearest_bf16_and_a_tie_to_the_even_one(interpreted):
    values = bf16_edge_values()
    answer = converted(interpreted, values, target="bf16")
    assert codes.differing(codes.bf16(answer), codes.bf16(codes.to_bf16(values))).tolist() == []


def test_rounding_towards_zero_is_heard(interpreted):
    values = bf16_edge_values()
    finite = values[np.isfinite(values)]
    answer = converted(interpreted, finite, target="bf16", rounding="rtz")
    assert answer.tolist() == (finite.view(np.uint32) >> 16).tolist()
    middles, _ = around_midpoints("e4m3")
    answer = np.abs(numbers_of("e4m3", converted(interpreted, middles, target="e4m3", rounding="rtz")))
    next_up = np.abs(numbers_of("e4m3", converted(interpreted, middles, target="e4m3", rounding="rtz") + 1))
    assert (answer <= np.abs(middles)).all()
    assert (np.abs(middles) < next_up).all()


def test_the_uncorrected_interpreter_reads_the_nan_of_e4m3_as_a_number(interpreted):
    every = np.arange(256, dtype=np.uint8)
    answer = interpreted("arithmetic:convert", codes=every, source="e4m3", target="f32", exact=False)
    assert codes.differing(answer.view(np.float32), numbers_of("e4m3", every)).tolist() == [0x7F, 0xFF]


def test_the_uncorrected_interpreter_loses_the_carry_when_it_rounds_to_e4m3(interpreted):
    wanted, carried = [
        converted(interpreted, f32_values(codes.f32([31.45])), target="e4m3", exact=e)[0] for e in (1, 0)
    ]
    assert (codes.e4m3(int(wanted)), codes.e4m3(int(carried))) == (32.0, 16.0)


def test_the_uncorrected_interpreter_truncates_to_bf16(interpreted):
    values = bf16_edge_values()
    answer = converted(interpreted, values, target="bf16", exact=False)
    assert len(codes.differing(codes.bf16(answer), codes.bf16(codes.to_bf16(values)))) >= 20


def test_an_untested_version_of_triton_is_refused_with_the_tested_ones_named(interpreted):
    here, tested = interpreted("arithmetic:versions")
    assert here in tested
    words = interpreted("arithmetic:refusal_of_version", version="99.1.0")
    assert "Triton 99.1.0 was never compared" in words
    assert all(version in words for version in tested)


def test_inline_assembly_is_refused_in_a_sentence(interpreted):
    words = interpreted("arithmetic:inline_asm")
    assert "cannot run inline assembly: this kernel can only be checked on a device" in words
