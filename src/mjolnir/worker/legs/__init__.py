"""The legs that a worker can run: the kernel under test, or a trusted reference."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


class NoDecodeError(Exception):
    """The file has no callable `decode`."""


def numpy_form(array: Any) -> tuple[Any, ...]:
    """What a call must leave as it is: shape, dtype, strides."""
    return array.shape, array.dtype, array.strides


@dataclass(frozen=True, slots=True, kw_only=True)
class Leg:
    """`load`: from the kernel's path to its decode. `wrap`: from a numpy array over the arena to what decode is given,
    without a copy; `form`: that argument's shape, dtype and strides."""

    load: Callable[[str], Callable[..., object]]
    wrap: Callable[[Any], Any] = lambda array: array
    form: Callable[[Any], tuple[Any, ...]] = numpy_form
