"""Free shapes and layouts for a Triton kernel, for the process of interpreted.py only: see kernel_runs.py."""

from __future__ import annotations

import numpy as np
import torch
from kernel_runs import call_decode, load_decode, to_torch

from mjolnir.core.cases import Case, Padding, Scales
from mjolnir.core.workload import PagedDecode
from mjolnir.oracle.attention import attend
from mjolnir.oracle.inputs import make_inputs

SCALES = Scales(q=0.37, k=1.9, v=1.9)


def compare(
    text, *, lengths, q_dtype, kv_dtype="fp8_e4m3", heads=(24, 4), head_dim=256, page_size=128, layout="", padding="-1",
    family="gauss", spare_columns=1, with_lse=True, seed=1,
):  # fmt: skip
    """A call on a ragged batch: relative L2 error of the whole answer and of its worst row, and lse's largest error.

    `layout`: "padded" (gaps after each token of the cache, each head of q and out), "tokens first" (pages in which the
    KV heads of a token lie side by side), or empty (contiguous). An error is NaN where the answer holds one.
    """
    workload = PagedDecode(
        num_q_heads=heads[0], num_kv_heads=heads[1], head_dim=head_dim, page_size=page_size, kv_dtype=kv_dtype,
        q_dtype=q_dtype, batch=len(lengths),
    )  # fmt: skip
    case = Case(
        family=family, lengths_tokens=tuple(lengths), workload=workload, scales=SCALES, padding=Padding(padding),
        spare_pages=3, table_pages=workload.pages(max(lengths)) + spare_columns,
    )  # fmt: skip
    inputs = make_inputs(case, np.random.default_rng(seed))
    exact = attend(inputs)
    q, kv_cache, page_table, seq_lens = to_torch(inputs)
    out = torch.full(q.shape, float("nan"), dtype=torch.bfloat16)
    if layout == "padded":
        q, kv_cache, out = padded(q), padded(kv_cache), padded(out)
    elif layout == "tokens first":
        kv_cache = kv_cache.view(torch.uint8).transpose(2, 3).contiguous().view(kv_cache.dtype).transpose(2, 3)
    lse = torch.full(q.shape[:2], float("nan")) if with_lse else None
    call_decode(load_decode(text), inputs, (q, kv_cache, page_table, seq_lens), out, lse)
    answer = out.double().numpy()
    rows = np.linalg.norm(answer - exact.output, axis=-1) / np.linalg.norm(exact.output, axis=-1)
    return {
        "whole": float(np.linalg.norm(answer - exact.output) / np.linalg.norm(exact.output)),
        "row": float(rows.max()),
        "lse": float(np.abs(lse.numpy() - exact.log_sum).max()) if with_lse else None,
        "contiguous": kv_cache.is_contiguous(),
    }


def padded(tensor):
    """The same numbers, and after each vector as much rubbish as it is long."""
    bits = tensor.view(torch.uint8)
    wide = torch.full((*bits.shape[:-1], 2 * bits.shape[-1]), 0x7F, dtype=torch.uint8)
    wide[..., : bits.shape[-1]] = bits
    return wide.view(tensor.dtype)[..., : tensor.shape[-1]]


def one_token(text, *, q_dtype):
    """(out, V) of sequences of one token with all scales 1, as float64: the two are to be equal."""
    workload = PagedDecode(q_dtype=q_dtype, batch=2)
    case = Case(family="gauss", lengths_tokens=(1, 1), workload=workload, table_pages=2)
    inputs = make_inputs(case, np.random.default_rng(5))
    out = torch.full(inputs.q.shape, float("nan"), dtype=torch.bfloat16)
    call_decode(load_decode(text), inputs, to_torch(inputs), out, None)
    v = inputs.kv_cache[inputs.page_table[:, 0], 1, :, 0].astype(np.float64)
    return out.double().numpy(), np.repeat(v, workload.group, axis=1)


def refusal(text, *, heads=(24, 4), head_dim=256, page_size=128, q="bfloat16", kv="float8_e4m3fn", strided=""):
    """The message with which decode refuses a shape, a type or a stride. Raises AssertionError when it takes it."""
    tensors = {
        "q": torch.zeros((1, heads[0], head_dim)).to(getattr(torch, q)),
        "kv_cache": torch.zeros((2, 2, heads[1], page_size, head_dim)).to(getattr(torch, kv)),
        "page_table": torch.zeros((1, 2), dtype=torch.int32),
        "seq_lens": torch.ones(1, dtype=torch.int32),
        "out": torch.zeros((1, heads[0], head_dim), dtype=torch.bfloat16),
    }
    if strided:
        *outer, last = tensors[strided].shape
        tensors[strided] = torch.zeros((*outer, 2 * last)).to(tensors[strided].dtype)[..., ::2]
    try:
        load_decode(text)(**tensors, sm_scale=1.0)
    except NotImplementedError as e:
        return str(e)
    raise AssertionError("decode took it")
