"""The interpreter's arithmetic, one operation at a time, for the process of interpreted.py only.

Numbers go in and out as raw codes (uint8, uint16, uint32 arrays), so that no conversion but Triton's takes part.
`exact` says whether the corrections of worker/exact_interpreter.py are made first.
"""

from __future__ import annotations

import warnings

import numpy as np
import torch
import triton
import triton.language as tl

from mjolnir.core.triton_versions import TESTED_VERSIONS
from mjolnir.worker import exact_interpreter

TYPES = {
    "f32": (torch.int32, torch.float32),
    "f16": (torch.int16, torch.float16),
    "bf16": (torch.int16, torch.bfloat16),
    "e4m3": (torch.int8, torch.float8_e4m3fn),
    "e5m2": (torch.int8, torch.float8_e5m2),
    "i32": (torch.int32, torch.int32),
}
"""The type of the raw codes, and the type of the numbers that they stand for."""


@triton.jit
def convert_kernel(x, y, N: tl.constexpr, ROUNDING: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(y + at, tl.load(x + at).to(y.dtype.element_ty, fp_downcast_rounding=ROUNDING))


@triton.jit
def elementwise_kernel(a, b, c, y, N: tl.constexpr, OP: tl.constexpr):  # noqa: C901  # a table of operations
    at = tl.arange(0, N)
    u, v, w = tl.load(a + at), tl.load(b + at), tl.load(c + at)
    if OP == "add":
        r = u + v
    elif OP == "subtract":
        r = u - v
    elif OP == "multiply":
        r = u * v
    elif OP == "divide":
        r = u / v
    elif OP == "minimum":
        r = tl.minimum(u, v)
    elif OP == "maximum":
        r = tl.maximum(u, v)
    elif OP == "fma":
        r = tl.fma(u, v, w)
    elif OP == "select":
        r = tl.where(u < v, u, w)
    elif OP == "clamp":
        r = tl.clamp(u, tl.minimum(v, w), tl.maximum(v, w))
    elif OP == "abs":
        r = tl.abs(u)
    else:
        r = -u
    tl.store(y + at, r)


@triton.jit
def compare_kernel(a, b, y, N: tl.constexpr, OP: tl.constexpr):
    at = tl.arange(0, N)
    u, v = tl.load(a + at), tl.load(b + at)
    if OP == "<":
        r = u < v
    elif OP == "<=":
        r = u <= v
    elif OP == ">":
        r = u > v
    elif OP == ">=":
        r = u >= v
    elif OP == "==":
        r = u == v
    else:
        r = u != v
    tl.store(y + at, tl.where(r, 1, 0))


@triton.jit
def dot_kernel(a, b, c, y, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    acc = tl.load(c + m[:, None] * N + n[None, :])
    product = tl.dot(tl.load(a + m[:, None] * K + k[None, :]), tl.load(b + k[:, None] * N + n[None, :]), acc)
    tl.store(y + m[:, None] * N + n[None, :], product)


@triton.jit
def reduce_kernel(x, y, M: tl.constexpr, N: tl.constexpr, OP: tl.constexpr):
    m, n = tl.arange(0, M), tl.arange(0, N)
    v = tl.load(x + m[:, None] * N + n[None, :])
    if OP == "sum":
        r = tl.sum(v, 1)
    elif OP == "sum in f32":
        r = tl.sum(v.to(tl.float32), 1)
    elif OP == "max":
        r = tl.max(v, 1)
    elif OP == "min":
        r = tl.min(v, 1)
    elif OP == "argmax":
        r = tl.argmax(v, 1)
    else:
        r = tl.max(tl.cumsum(v, 1), 1)
    tl.store(y + m, r)


@triton.jit
def scalar_condition_kernel(y, n, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(y + at, at + 1, mask=(at < 8) & (n != 5))


@triton.jit
def inline_asm_kernel(x, y, N: tl.constexpr):
    at = tl.arange(0, N)
    r = tl.inline_asm_elementwise("add.f32 $0, $1, $1;", "=f,f", [tl.load(x + at)], tl.float32, True, 1)
    tl.store(y + at, r)


def convert(codes, *, source, target, rounding=None, exact=True):
    """The codes of `source` converted to `target`."""
    out = _empty(codes.size, target)
    _launch(convert_kernel, _tensor(codes, source), out, codes.size, rounding, exact=exact)
    return _codes(out, target)


def elementwise(a, b, c, *, op, dtype="bf16", result="", exact=True):
    """`op` on codes of `dtype`; the answer in codes of `result` (empty: dtype)."""
    out = _empty(a.size, result or dtype)
    _launch(elementwise_kernel, *(_tensor(x, dtype) for x in (a, b, c)), out, a.size, op, exact=exact)
    return _codes(out, result or dtype)


def compare(a, b, *, op, dtype="bf16", exact=True):
    """1 where `a op b`, else 0."""
    out = _empty(a.size, "i32")
    _launch(compare_kernel, _tensor(a, dtype), _tensor(b, dtype), out, a.size, op, exact=exact)
    return _codes(out, "i32")


def dot(a, b, c, *, dtype, exact=True):
    """float32 (M, N): c + a . b of codes (M, K) and (K, N); c is float32."""
    (m, k), n = a.shape, b.shape[1]
    out = torch.empty((m, n))
    _launch(dot_kernel, _tensor(a, dtype), _tensor(b, dtype), torch.from_numpy(c), out, m, n, k, exact=exact)
    return out.numpy()


def reduce(codes, *, op, dtype, result="f32", exact=True):
    """`op` along the rows of codes (M, N)."""
    out = _empty(len(codes), result)
    _launch(reduce_kernel, _tensor(codes, dtype), out, *codes.shape, op, exact=exact)
    return _codes(out, result)


def under_scalar_condition(n):
    """16 words, the first eight of which are written unless n is 5."""
    out = torch.zeros(16, dtype=torch.int32)
    _launch(scalar_condition_kernel, out, n, 16, exact=True)
    return out.tolist()


def inline_asm():
    """The words with which inline assembly is refused."""
    try:
        _launch(inline_asm_kernel, torch.ones(16), torch.ones(16), 16, exact=True)
    except Exception as e:  # noqa: BLE001  # the type is Triton's own and differs between versions
        return str(e)
    raise AssertionError("inline assembly ran")


def refusal_of_version(version):
    """The words with which make_exact refuses a version of Triton."""
    triton.__version__ = version
    try:
        exact_interpreter.make_exact()
    except exact_interpreter.InterpreterError as e:
        return str(e)
    raise AssertionError(f"{version} was taken")


def versions():
    """(the version of Triton here, those that are said to be tested)."""
    return triton.__version__, TESTED_VERSIONS


def _launch(kernel, *args, exact):
    if exact:
        exact_interpreter.make_exact()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # overflow and NaN are what these calls are about
        kernel[(1,)](*args)


def _tensor(codes, name):
    signed = np.ascontiguousarray(codes).view(f"i{codes.itemsize}")
    return torch.from_numpy(signed).view(TYPES[name][1])


def _empty(size, name):
    return torch.zeros(size, dtype=TYPES[name][1])


def _codes(tensor, name):
    signed = tensor.view(TYPES[name][0]).numpy()
    return signed.view(f"u{signed.itemsize}")
