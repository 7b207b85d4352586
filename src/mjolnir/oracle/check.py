"""An output against the exact one: by rows, relative, worst row. Absolute tolerances have no place here."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mjolnir.core.cases import Case
from mjolnir.core.workload import HIST_ELEMENT_LIMIT
from mjolnir.oracle.codes import DTYPES, Array, bits_of

OUT_FILL_BITS = 0x7FA5
"""What the harness fills `out` with before a call: a bf16 NaN that no arithmetic answers, since a computed NaN has the
quiet bit (0x0040) set. Where it is found again, nothing was written."""


LOG_SUM_LIMIT = 1e-3
"""Largest error of an LSE, absolute: it is a logarithm (kernels that merge parts of a row weigh them by its exp)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """The comparison of one call's output.

    error is the worst row-relative L2 error (dimensionless); None when out was not written or holds NaN or inf.
    unwritten counts elements that still hold the harness's filling (E_UNWRITTEN); a passed result has none.
    detail says in words what is wrong, empty when passed.
    """

    passed: bool
    error: float | None
    limit: float
    unwritten: int = 0
    detail: str = ""


def check_output(out: Array, expected: NDArray[np.float64], case: Case) -> CheckResult:
    """Compares out (batch, num_q_heads, head_dim), bfloat16 or its raw bits as uint16, with the exact output.

    The error of a row (one batch entry, one head) is |out - expected| / |expected| in L2. In hist also no element may
    be off by more than 2 % of its row's maximum. Raises ValueError when the shape or type is another.
    """
    bits = bits_of(out) if out.dtype == DTYPES["bf16"] else out
    if bits.dtype != np.uint16 or bits.shape != expected.shape:
        raise ValueError(f"out is {out.dtype} {out.shape}, not bfloat16 {expected.shape}")
    unwritten = bits == OUT_FILL_BITS
    if unwritten.any():
        count = int(unwritten.sum())
        detail = f"{count} of {bits.size} elements of out were not written, the first at {_place(unwritten)}"
        return CheckResult(passed=False, error=None, limit=case.limit, unwritten=count, detail=detail)
    values = bits.view(DTYPES["bf16"]).astype(np.float64)
    odd = ~np.isfinite(values)
    if odd.any():
        detail = f"{int(odd.sum())} of {bits.size} elements of out are NaN or inf, the first at {_place(odd)}"
        return CheckResult(passed=False, error=None, limit=case.limit, detail=detail)
    return _compare(values, expected, case)


def check_log_sum(lse: Array, expected: NDArray[np.float64]) -> str:
    """What is wrong with lse (batch, num_q_heads) float32, the natural log of the softmax's sum; empty: nothing."""
    errors = np.abs(lse.astype(np.float64) - expected)
    errors[~np.isfinite(lse)] = np.inf
    row, head = _worst(errors)
    if errors[row, head] <= LOG_SUM_LIMIT:
        return ""
    found, wanted = float(lse[row, head]), float(expected[row, head])
    return f"the LSE of row {row} head {head} is {found:.6g}, not {wanted:.6g} (natural log; allowed {LOG_SUM_LIMIT:g})"


def _compare(values: NDArray[np.float64], expected: NDArray[np.float64], case: Case) -> CheckResult:
    differences = np.abs(values - expected)
    errors = np.linalg.norm(differences, axis=-1) / np.linalg.norm(expected, axis=-1)
    row, head = _worst(errors)
    error = float(errors[row, head])
    if not error <= case.limit:
        detail = f"row {row} head {head} is off by {error:.3g} of its length, allowed {case.limit:g}"
        return CheckResult(passed=False, error=error, limit=case.limit, detail=detail)
    if case.family == "hist":
        parts = differences / np.abs(expected).max(axis=-1, keepdims=True)
        row, head, element = _worst(parts)
        part = float(parts[row, head, element])
        if not part <= HIST_ELEMENT_LIMIT:
            detail = (
                f"row {row} head {head} element {element} is off by {part:.3g} of its row's maximum, "
                f"allowed {HIST_ELEMENT_LIMIT:g}: tokens were left out or counted twice"
            )
            return CheckResult(passed=False, error=error, limit=case.limit, detail=detail)
    return CheckResult(passed=True, error=error, limit=case.limit)


def _worst(values: Array) -> tuple[int, ...]:
    return tuple(int(i) for i in np.unravel_index(int(np.argmax(values)), values.shape))


def _place(mask: Array) -> str:
    row, head, element = _worst(mask)
    return f"row {row} head {head} element {element}"
