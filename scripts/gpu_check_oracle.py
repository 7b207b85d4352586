"""The right answer in float64, on the device and a chunk at a time, and the comparison with it. Part of gpu_check.py.

What is judged is what src/mjolnir/oracle judges, with the limits of src/mjolnir/core/workload.py; a test compares the
two. The whole row of logits is kept (50 MiB at 256K and 24 heads), so no online softmax is needed: this has to be
plain more than it has to be small.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from gpu_check_inputs import K_HALF, V_HALF, Inputs, bits_of, widen
from torch import Tensor

from mjolnir.core.cases import Case
from mjolnir.core.workload import HIST_ELEMENT_LIMIT

OUT_FILL_BITS = 0x7FA5
"""What `out` holds before a call: a bf16 NaN that no arithmetic answers. Found again, it says: not written."""
LSE_LIMIT = 1e-3
"""Largest absolute error of the natural-log LSE: LOG_SUM_LIMIT of src/mjolnir/oracle/check.py."""
_CHUNK_TOKENS = {"cpu": 2048, "cuda": 16384}
"""128 MiB of float64 for K of 4 heads at head_dim 256 on a GPU."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exact:
    output: Tensor
    """(batch, num_q_heads, head_dim) float64"""
    log_sum: Tensor
    """(batch, num_q_heads) float64: natural log of the sum of exp(logit), the LSE"""
    page_shares: tuple[Tensor, ...]
    """one a row, (num_q_heads, pages of the row): the part of a head's softmax that lies in each page"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """error: the worst row-relative L2 error; None where `out` was not written or holds NaN or inf. detail: empty when
    passed."""

    passed: bool
    error: float | None = None
    lse_error: float | None = None
    detail: str = ""


def attend(inputs: Inputs) -> Exact:
    """softmax(sm_scale * q_scale * k_scale * q . K^T) . V * v_scale of every row and head."""
    rows = [_attend_row(inputs, row) for row in range(len(inputs.lengths_tokens))]
    outputs, log_sums, shares = zip(*rows, strict=True)
    return Exact(output=torch.stack(outputs), log_sum=torch.stack(log_sums), page_shares=shares)


def compare(out: Tensor, expected: Tensor, case: Case) -> Comparison:
    """`out` (batch, num_q_heads, head_dim) bf16 against the exact output, by rows, relative, the worst one."""
    unwritten = bits_of(out) == OUT_FILL_BITS
    if unwritten.any():
        detail = f"{int(unwritten.sum())} of {out.numel()} elements were not written, the first at {_place(unwritten)}"
        return Comparison(passed=False, detail=detail)
    values = widen(out)
    odd = ~values.isfinite()
    if odd.any():
        detail = f"{int(odd.sum())} of {out.numel()} elements are NaN or inf, the first at {_place(odd)}"
        return Comparison(passed=False, detail=detail)
    differences = (values - expected).abs()
    errors = differences.norm(dim=-1) / expected.norm(dim=-1)
    error = float(errors.max())
    if not error <= case.limit:
        detail = f"{_place(errors == errors.max())} is off by {error:.3g} of its length, allowed {case.limit:g}"
        return Comparison(passed=False, error=error, detail=detail)
    parts = differences / expected.abs().amax(-1, keepdim=True)
    part = float(parts.max())
    if case.family == "hist" and not part <= HIST_ELEMENT_LIMIT:
        where = _place(parts == parts.max())
        detail = f"{where} is off by {part:.3g} of its row's maximum, allowed {HIST_ELEMENT_LIMIT:g}"
        return Comparison(passed=False, error=error, detail=detail)
    return Comparison(passed=True, error=error)


def compare_lse(lse: Tensor, exact: Exact) -> Comparison:
    """`lse` (batch, num_q_heads) float32 against the exact natural-log LSE, absolutely."""
    errors = (lse.to(torch.float64) - exact.log_sum).abs()
    error = float(errors.max())
    if error <= LSE_LIMIT:
        return Comparison(passed=True, lse_error=error)
    if errors.isfinite().all():
        detail = f"the LSE of {_place(errors == errors.max())} is off by {error:.3g}, allowed {LSE_LIMIT:g}"
        return Comparison(passed=False, lse_error=error, detail=detail)
    return Comparison(passed=False, detail=f"the LSE of {_place(~errors.isfinite())} is NaN or inf, or was not written")


def _attend_row(inputs: Inputs, row: int) -> tuple[Tensor, Tensor, Tensor]:
    """Output (num_q_heads, head_dim), LSE (num_q_heads,) and page shares (num_q_heads, pages) of one row."""
    num_kv_heads, page_size, head_dim = inputs.kv_cache.shape[2:]
    q = widen(inputs.q[row]).view(num_kv_heads, -1, head_dim) * inputs.logit_scale
    logits = torch.cat([q @ keys.transpose(-1, -2) for keys in _chunks(inputs, row, K_HALF)], -1)
    log_sum = logits.logsumexp(-1)
    weights = (logits - log_sum.unsqueeze(-1)).exp()
    output, start = torch.zeros_like(q), 0
    for values in _chunks(inputs, row, V_HALF):
        output += weights[..., start : start + values.shape[1]] @ values
        start += values.shape[1]
    missing = -inputs.lengths_tokens[row] % page_size
    shares = torch.nn.functional.pad(weights, (0, missing)).unflatten(-1, (-1, page_size)).sum(-1)
    return output.view(-1, head_dim) * inputs.v_scale, log_sum.flatten(), shares.flatten(0, 1)


def _chunks(inputs: Inputs, row: int, half: int) -> Iterator[Tensor]:
    """K or V of a row in order, as float64 (num_kv_heads, tokens, head_dim), whole pages but for the last one."""
    cache = inputs.kv_cache
    page_size, head_dim = cache.shape[3:]
    ids = torch.from_numpy(inputs.row_pages[row]).to(cache.device)
    step = max(1, _CHUNK_TOKENS.get(cache.device.type, 2048) // page_size)
    left = inputs.lengths_tokens[row]
    for part in ids.split(step):
        pages = widen(bits_of(cache)[part, half].view(cache.dtype))
        yield pages.transpose(0, 1).reshape(-1, part.numel() * page_size, head_dim)[:, :left]
        left -= part.numel() * page_size


def _place(mask: Tensor) -> str:
    """Where the first True of (batch, heads[, elements]) is, in words."""
    at = mask.nonzero()[0].tolist()
    return " ".join(f"{word} {i}" for word, i in zip(("row", "head", "element"), at, strict=False))
