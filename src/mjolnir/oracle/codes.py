"""Element types as bytes: exact decoding to float64, rounding to the nearest code, and fast Gaussian draws."""

from __future__ import annotations

from functools import cache
from statistics import NormalDist
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

DTYPES: dict[str, np.dtype[Any]] = {
    "fp8_e4m3": np.dtype(ml_dtypes.float8_e4m3fn),
    "bf16": np.dtype(ml_dtypes.bfloat16),
}
"""The numpy element type of each dtype name of a workload."""

LARGEST = {"fp8_e4m3": 448.0, "bf16": 3.0e38}
"""Values are cut off here before they are rounded: float8_e4m3fn has no infinity and would answer NaN."""

NAN_BITS = {"fp8_e4m3": 0x7F, "bf16": 0x7FC0}
"""The poison in pages and tails: an ordinary NaN, unlike the filling of `out` (check.OUT_FILL_BITS)."""

_BITS = {1: np.uint8, 2: np.uint16}
_DRAW_CHUNK = 1 << 16
"""Elements drawn at a time, so that the random words stay in the processor's cache."""


def bits_of(values: Array) -> Array:
    """The raw codes of fp8 or bf16 `values`: the same memory seen as uint8 or uint16."""
    return values.view(_BITS[values.dtype.itemsize])


def dtype_name(values: Array) -> str:
    """The workload's name of the element type of `values`. Raises ValueError for any other type."""
    for name, dtype in DTYPES.items():
        if values.dtype == dtype:
            return name
    raise ValueError(f"{values.dtype} is none of {', '.join(DTYPES)}")


def encode(values: Array | float, name: str) -> Array:
    """`values` rounded to the nearest number of the type, cut off at its largest."""
    return np.asarray(np.clip(values, -LARGEST[name], LARGEST[name]).astype(np.float32).astype(DTYPES[name]))


def decode(values: Array) -> NDArray[np.float64]:
    """fp8 or bf16 `values` as float64, exactly; contiguous fp8 takes one table look-up for two elements."""
    if values.dtype.itemsize == 1 and values.flags.c_contiguous and values.shape[-1] % 2 == 0:
        pairs = np.take(_pair_table(), values.view(np.uint16), mode="clip")
        return np.asarray(pairs.view(np.float64))
    return values.astype(np.float64)


def draw_gaussian(rng: np.random.Generator, mean: float, name: str, count: int) -> Array:
    """`count` independent draws from N(mean, 1), rounded to the type; flat.

    Each draw is one random 16-bit word, looked up in a table of the 65,536 quantiles of the distribution, rounded
    beforehand: about 2 ns an element. The steps between quantiles are finer than those of fp8 and, between -3 and 3,
    near those of bf16; the largest deviation is 4.3 standard deviations.
    """
    table = _quantile_table(mean, name)
    codes = np.empty(count, table.dtype)
    for start in range(0, count, _DRAW_CHUNK):
        part = codes[start : start + _DRAW_CHUNK]
        words = rng.integers(0, 1 << 64, size=-(-part.size // 4), dtype=np.uint64).view(np.uint16)
        np.take(table, words[: part.size], out=part, mode="clip")
    return codes.view(DTYPES[name])


@cache
def _quantile_table(mean: float, name: str) -> Array:
    normal = NormalDist()
    deviations = np.linspace(-4.6, 4.6, 4601)
    cumulative = np.array([normal.cdf(x) for x in deviations])
    quantiles = np.interp((np.arange(65536) + 0.5) / 65536, cumulative, deviations)
    table = bits_of(encode(quantiles + mean, name))
    table.setflags(write=False)
    return table


@cache
def _pair_table() -> Array:
    """For each uint16 that two neighbouring fp8 codes make in memory, both values; complex128 is only a 16-byte box."""
    words = np.arange(65536, dtype=np.uint16).view(np.uint8)
    table = words.view(DTYPES["fp8_e4m3"]).astype(np.float64).view(np.complex128)
    table.setflags(write=False)
    return table
