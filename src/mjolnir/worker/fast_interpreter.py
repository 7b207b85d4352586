"""Makes Triton's interpreter quick for one who only counts: what it does anew in every operation is done once."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np


def speed_up(interpreter: Any) -> None:
    """Change the module triton.runtime.interpreter of this process. Conversions between float types answer zeros."""
    interpreter._patch_lang = _patch_once(interpreter)
    interpreter._get_np_dtype = _remember_by_name(interpreter._get_np_dtype)
    interpreter._convert_float = _zeros_of
    builder = interpreter.interpreter_builder  # without its checks for integer overflow, a third of its time
    builder.options = dataclasses.replace(builder.options, sanitize_overflow=False)


def _patch_once(interpreter: Any) -> Callable[[Any], None]:
    """In place of the interpreter's change of triton.language, which it makes anew in every call of a device function:
    that is half of its time. Here nothing but the interpreter uses the language, so it stays changed."""
    patch, done = interpreter._patch_lang, set[int]()

    def patch_lang(fn: Any) -> None:
        if id(fn.__globals__) not in done:
            done.add(id(fn.__globals__))
            patch(fn)
            tensor = interpreter.tl.tensor
            tensor.__index__ = lambda one: one.handle.data.item()  # 3.6: an error with NumPy 2.4

    return patch_lang


def _remember_by_name(numpy_dtype_of: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The interpreter builds its whole table of types for each look into it."""
    known: dict[tuple[type, str], Any] = {}

    def look_up(dtype: Any) -> Any:
        key = (type(dtype), dtype.name)
        if key not in known:
            known[key] = numpy_dtype_of(dtype)
        return known[key]

    return look_up


def _zeros_of(data: Any, source: Any, target: Any, rounding_mode: Any) -> Any:
    """In place of the interpreter's conversion between float types: as many zeros, as the target's bits."""
    del source, rounding_mode
    return np.zeros(np.shape(data), f"uint{target.primitive_bitwidth}")
