"""Triton's interpreter with its known faults of arithmetic corrected, so that it may say that a kernel is wrong.

As shipped it keeps bf16 and fp8 as integers and then computes with those integers: `tl.dot` and elementwise arithmetic
on bf16 multiply bit patterns (triton-lang/triton issue 11584, closed as not supported), NaN in e4m3 reads as 480,
float32 to e4m3 loses the carry of its rounding (31.45 becomes 16), and float32 to bf16 truncates. Here such values are
widened to float32 exactly, computed with, and rounded to nearest even as the hardware's `cvt.rn.satfinite` does.

What no interpreter sees stays unseen: races, barriers, asynchronous copies, misaligned vector loads, the order of
summation in a tensor core, and the compiler's own faults. A pass is necessary, never sufficient.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from mjolnir.core.triton_versions import untested_sentence

_LARGEST = {"float8_e4m3fn": 448.0, "float8_e5m2": 57344.0}
"""The largest finite value of each, where it saturates."""
Array = NDArray[Any]
Op = Callable[..., Any]


class InterpreterError(Exception):
    """What the interpreter cannot do, in words for people."""


def make_exact() -> None:
    """Correct the interpreter of the Triton in this process. Raises InterpreterError for an untested version."""
    import triton

    if why := untested_sentence(triton.__version__):
        raise InterpreterError(why)
    from triton.runtime import interpreter

    _Corrections(interpreter).install()


class _Corrections:
    """`coded`: the element types that the interpreter keeps as integers, with the numpy type that they stand for."""

    def __init__(self, interpreter: Any) -> None:
        tl = interpreter.tl
        self.interpreter = interpreter
        self.original_convert = interpreter._convert_float
        self.coded = {
            tl.bfloat16: np.dtype(ml_dtypes.bfloat16),
            tl.float8e4nv: np.dtype(ml_dtypes.float8_e4m3fn),
            tl.float8e5: np.dtype(ml_dtypes.float8_e5m2),
        }
        self.plain = {tl.float16: np.dtype(np.float16), tl.float32: np.dtype(np.float32), tl.float64: np.dtype(float)}
        self.known = {**self.coded, **self.plain}

    def install(self) -> None:
        builder = self.interpreter.InterpreterBuilder
        self.interpreter._convert_float = self.convert
        self.handle = self.interpreter.TensorHandle
        builder.create_dot = self._dot(builder.create_dot)
        builder.binary_op = self._widening(builder.binary_op, operands=2)
        builder.unary_op = self._widening(builder.unary_op, operands=1)
        builder.ternary_op = self._clipping(builder.ternary_op)
        builder.create_fma = self._fma(builder.create_fma)
        builder.cast_impl = self._casting(builder.cast_impl)
        builder.create_inline_asm = _no_inline_asm
        builder.create_minnumf = lambda builder, x, y: builder.binary_op(x, y, np.fmin)
        builder.create_maxnumf = lambda builder, x, y: builder.binary_op(x, y, np.fmax)
        builder.create_clampf = self._clamp(builder.create_clampf)
        reduce, scan = self.interpreter.ReduceOps, self.interpreter.ScanOps
        reduce.min_max, reduce.sum = self._reducing(reduce.min_max), self._reducing(reduce.sum)
        scan.cumsum, scan.cumprod = self._reducing(scan.cumsum), self._reducing(scan.cumprod)

    def widen(self, data: Array, dtype: Any) -> Array:
        """The numbers that `data` stands for, in float32 (float64 stays)."""
        if dtype in self.coded:
            numbers: Array = np.ascontiguousarray(data).view(self.coded[dtype]).astype(np.float32)
            return numbers
        return data.astype(np.float32) if dtype in self.plain and data.dtype != np.float64 else data

    def narrow(self, numbers: Array, dtype: Any) -> Array:
        """`numbers` rounded to nearest even, as the integers that the interpreter keeps. fp8 saturates; NaN stays."""
        coded = self.coded[dtype]
        if coded.itemsize == 1:
            largest = _LARGEST[coded.name]
            numbers = np.clip(numbers, -largest, largest)
        return np.asarray(numbers).astype(coded).view(np.uint8 if coded.itemsize == 1 else np.uint16)

    def convert(self, data: Array, source: Any, target: Any, rounding_mode: Any) -> Array:
        """In place of `_convert_float`: any of bf16, fp16, fp32, fp64, e4m3, e5m2 to any other, as unsigned bits."""
        known = self.known
        if source not in known or target not in known:
            return self.original_convert(data, source, target, rounding_mode)  # type: ignore[no-any-return]
        exact = np.ascontiguousarray(data).view(known[source]).astype(np.float64)
        bits = np.dtype(f"uint{known[target].itemsize * 8}")
        with np.errstate(over="ignore", invalid="ignore"):
            rounded = self.narrow(exact, target) if target in self.coded else exact.astype(known[target])
        rounded = rounded.view(bits)
        if rounding_mode == self.interpreter._ir.ROUNDING_MODE.RTZ:
            is_beyond = np.abs(rounded.view(known[target]).astype(np.float64)) > np.abs(exact)
            rounded = rounded - is_beyond.astype(bits)
        return rounded

    def _dot(self, original: Op) -> Op:
        def create_dot(builder: Any, a: Any, b: Any, d: Any, *rest: Any) -> Any:
            if not (a.dtype.scalar in self.coded or b.dtype.scalar in self.coded):
                return original(builder, a, b, d, *rest)
            product = np.matmul(self.widen(a.data, a.dtype.scalar), self.widen(b.data, b.dtype.scalar))
            return self.handle((product + d.data).astype(d.data.dtype), d.dtype.scalar)

        return create_dot

    def _widening(self, original: Op, *, operands: int) -> Op:
        def elementwise(builder: Any, *args: Any) -> Any:
            *handles, op = args
            dtype = handles[0].dtype.scalar
            if dtype not in self.coded or len(handles) != operands:
                result = original(builder, *args)
                if result.data.dtype == np.bool_:  # or a scalar condition is spread out as the integers it came from
                    result.dtype = self.interpreter.tl.int1
                return result
            result = op(*(self.widen(h.data, dtype) for h in handles))
            return self.handle(result if result.dtype == np.bool_ else self.narrow(result, dtype), dtype)

        return elementwise

    def _clamp(self, original: Op) -> Op:
        def create_clampf(builder: Any, x: Any, low: Any, high: Any, propagate_nans: Any) -> Any:
            if propagate_nans != self.interpreter._ir.PROPAGATE_NAN.NONE:
                return original(builder, x, low, high, propagate_nans)
            return builder.create_minnumf(builder.create_maxnumf(x, low), high)

        return create_clampf

    def _casting(self, original: Op) -> Op:
        def cast_impl(builder: Any, src: Any, dst_type: Any) -> Any:
            source, target = src.dtype.scalar, dst_type.scalar
            if source not in self.coded and target not in self.coded:
                return original(builder, src, dst_type)
            numpy_dtype = self.interpreter._get_np_dtype(dst_type)
            if source in self.known and target in self.known:
                data = self.convert(src.data, source, target, None).view(numpy_dtype)
            elif source in self.coded:
                data = self.widen(src.data, source).astype(numpy_dtype)
            else:
                data = self.narrow(src.data.astype(np.float32), target)
            return self.handle(data, target)

        return cast_impl

    def _reducing(self, original: Op) -> Op:
        def reduce(ops: Any, tensor: Any, *rest: Any, **options: Any) -> Any:
            value = tensor[0] if isinstance(tensor, tuple) else tensor
            dtype = value.dtype.scalar
            if dtype not in self.coded:
                return original(ops, tensor, *rest, **options)
            wide = ops.to_tensor(self.widen(value.handle.data, dtype), self.interpreter.tl.float32)
            found = original(ops, wide, *rest, **options)
            results = list(found) if isinstance(found, tuple | list) else [found]
            for i, one in enumerate(results):
                if one.dtype.scalar in self.plain:  # an index stays
                    results[i] = ops.to_tensor(self.narrow(np.asarray(one.handle.data), dtype), dtype)
            return type(found)(results) if isinstance(found, tuple | list) else results[0]

        return reduce

    def _clipping(self, original: Op) -> Op:
        def ternary_op(builder: Any, x: Any, y: Any, z: Any, op: Op) -> Any:
            dtype = z.dtype.scalar
            if op is not np.clip or dtype not in self.coded:
                return original(builder, x, y, z, op)
            return self.handle(self.narrow(op(*(self.widen(h.data, dtype) for h in (x, y, z))), dtype), dtype)

        return ternary_op

    def _fma(self, original: Op) -> Op:
        def create_fma(builder: Any, x: Any, y: Any, z: Any) -> Any:
            dtype = z.dtype.scalar
            if dtype not in self.coded:
                return original(builder, x, y, z)
            a, b, c = (self.widen(h.data, dtype).astype(np.float64) for h in (x, y, z))
            return self.handle(self.narrow(a * b + c, dtype), dtype)

        return create_fma


def _no_inline_asm(*_: Any, **__: Any) -> Any:
    raise InterpreterError("the interpreter cannot run inline assembly: this kernel can only be checked on a device")
