"""Number types written out by hand, from their definitions: what the interpreter's arithmetic is compared with."""

from __future__ import annotations

import numpy as np


def number(code: int, *, exponent_bits: int, mantissa_bits: int, has_infinity: bool) -> float:
    """What a code stands for: sign, exponent, mantissa. e4m3 has no infinity and one NaN, all ones."""
    bias = (1 << (exponent_bits - 1)) - 1
    mantissa = code & ((1 << mantissa_bits) - 1)
    exponent = code >> mantissa_bits & ((1 << exponent_bits) - 1)
    sign = -1.0 if code >> (exponent_bits + mantissa_bits) else 1.0
    fraction = mantissa / (1 << mantissa_bits)
    if exponent == (1 << exponent_bits) - 1:
        if has_infinity:
            return sign * np.inf if mantissa == 0 else np.nan
        if mantissa == (1 << mantissa_bits) - 1:
            return np.nan
    return sign * fraction * 2.0 ** (1 - bias) if exponent == 0 else sign * (1 + fraction) * 2.0 ** (exponent - bias)


def e4m3(code: int) -> float:
    return number(code, exponent_bits=4, mantissa_bits=3, has_infinity=False)


def e5m2(code: int) -> float:
    return number(code, exponent_bits=5, mantissa_bits=2, has_infinity=True)


FP8_TYPES = {"e4m3": (e4m3, 0x7E), "e5m2": (e5m2, 0x7B)}
"""How a code is read, and the code of the largest finite number."""


def bf16(codes):
    """bf16 codes (uint16) as float32: the upper half of its bits."""
    return (codes.astype(np.uint32) << 16).view(np.float32)


def to_bf16(numbers):
    """float32 rounded to the nearest bf16 code, ties to even; NaN is NaN."""
    bits = numbers.astype(np.float32).view(np.uint32)
    rounded = ((bits + np.uint32(0x7FFF) + (bits >> 16 & 1)) >> 16).astype(np.uint16)
    return np.where(np.isnan(numbers), np.uint16(0x7FC0), rounded)


def f32(numbers):
    """The codes (uint32) of numbers that float32 holds exactly."""
    return np.asarray(numbers, np.float32).view(np.uint32)


def differing(got, wanted):
    """Where two arrays of numbers differ: NaN equals NaN, and -0 is not 0."""
    with np.errstate(invalid="ignore"):  # a signalling NaN
        got, wanted = np.asarray(got, np.float64), np.asarray(wanted, np.float64)
    same = (got == wanted) & (np.signbit(got) == np.signbit(wanted)) | np.isnan(got) & np.isnan(wanted)
    return np.flatnonzero(~same)


def integers(name, shape, seed):
    """Codes of whole numbers from -8 to 8, whose products and sums float32 holds exactly, and the numbers."""
    numbers = np.random.default_rng(seed).integers(-8, 9, shape).astype(np.float32)
    if name == "bf16":
        return to_bf16(numbers), numbers
    read, largest = FP8_TYPES[name]
    table = {read(code) + 0.0: code for code in [*range(largest + 1), *range(0x81, 0x81 + largest)]}
    return np.vectorize(table.get, otypes=[np.uint8])(numbers), numbers
