"""What is timed side by side at one L: the kernel, torch's own attention, FlashInfer. Part of gpu_check.py."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from gpu_check_cases import Decode
from gpu_check_inputs import K_HALF, V_HALF, Inputs, bits_of, make_inputs
from gpu_check_oracle import OUT_FILL_BITS, attend
from torch import Tensor

from mjolnir.core.cases import Case
from mjolnir.core.workload import PagedDecode

_WORKSPACE_BYTES = 128 << 20
"""What FlashInfer's documentation recommends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Leg:
    """run() queues one call that writes `out`; num_bytes is what K and V make in the form that it reads."""

    name: str
    what: str
    case: Case
    run: Callable[[], None]
    out: Tensor
    """(batch, num_q_heads, head_dim) bf16"""
    expected: Tensor
    """float64, of the same shape"""
    num_bytes: int


def kernel_leg(case: Case, inputs: Inputs, expected: Tensor, decode: Decode) -> Leg:
    """The kernel file's `decode`, with everything that it does on the host."""
    out = _unwritten(expected)

    def run() -> None:
        decode(
            inputs.q,
            inputs.kv_cache,
            inputs.page_table,
            inputs.seq_lens,
            sm_scale=inputs.sm_scale,
            q_scale=inputs.q_scale,
            k_scale=inputs.k_scale,
            v_scale=inputs.v_scale,
            out=out,
        )

    return Leg(
        name=f"kernel q {case.workload.q_dtype}",
        what="src/mjolnir_kernel/t5_decode.py on the fp8 cache: both launches",
        case=case,
        run=run,
        out=out,
        expected=expected,
        num_bytes=_kv_bytes(case),
    )


def sdpa_leg(case: Case, inputs: Inputs, expected: Tensor) -> Leg:
    """scaled_dot_product_attention over K and V that were gathered from their pages and widened to bf16 beforehand.

    The query heads of one KV head are the query rows of one head of SDPA: K and V are read once a KV head.
    """
    w = case.workload
    ids = torch.from_numpy(inputs.row_pages[0]).to(inputs.q.device)
    bits = bits_of(inputs.kv_cache)
    k, v = (_gather(bits[ids, half].view(inputs.kv_cache.dtype), case) for half in (K_HALF, V_HALF))
    q = inputs.q.view(1, w.num_kv_heads, w.group, w.head_dim)
    out = _unwritten(expected)

    def run() -> None:
        answer = torch.nn.functional.scaled_dot_product_attention(q, k, v, scale=inputs.logit_scale)
        out.copy_(answer.view(out.shape))

    run()
    return Leg(
        name="torch SDPA q bf16",
        what="scaled_dot_product_attention on K and V gathered and widened to bf16 beforehand (not timed): twice the "
        "bytes; a copy of the answer to out is timed",
        case=case,
        run=run,
        out=out,
        expected=expected,
        num_bytes=2 * _kv_bytes(case),
    )


def flashinfer_leg(case: Case, inputs: Inputs, expected: Tensor) -> Leg:
    """FlashInfer's paged decode on the same fp8 cache, bf16 q. plan() is host work and not timed."""
    import flashinfer

    w, device = case.workload, inputs.q.device
    (length,), ids = inputs.lengths_tokens, inputs.row_pages[0]
    workspace = torch.zeros(_WORKSPACE_BYTES, dtype=torch.uint8, device=device)
    wrapper = flashinfer.BatchDecodeWithPagedKVCacheWrapper(workspace, "HND", use_tensor_cores=True)
    wrapper.plan(
        torch.tensor([0, ids.size], dtype=torch.int32, device=device),
        torch.from_numpy(ids).to(device, torch.int32),
        torch.tensor([(length - 1) % w.page_size + 1], dtype=torch.int32, device=device),
        w.num_q_heads,
        w.num_kv_heads,
        w.head_dim,
        w.page_size,
        q_data_type=torch.bfloat16,
        kv_data_type=inputs.kv_cache.dtype,
        sm_scale=inputs.logit_scale,
    )
    out = _unwritten(expected)

    def run() -> None:
        wrapper.run(inputs.q, inputs.kv_cache, out=out)

    run()
    backend = getattr(wrapper, "resolved_backend", None) or getattr(wrapper, "_backend", "unknown")
    return Leg(
        name="FlashInfer q bf16",
        what=f"FlashInfer {flashinfer.__version__} on the fp8 cache, backend {backend}, tensor cores; plan() not timed",
        case=case,
        run=run,
        out=out,
        expected=expected,
        num_bytes=_kv_bytes(case),
    )


def _gather(pages: Tensor, case: Case) -> Tensor:
    """Pages (pages, num_kv_heads, page_size, head_dim) -> (1, num_kv_heads, L, head_dim) bf16, contiguous."""
    w, (length,) = case.workload, case.lengths_tokens
    tokens = pages.to(torch.bfloat16).transpose(0, 1).reshape(1, w.num_kv_heads, -1, w.head_dim)
    return tokens[:, :, :length].contiguous()


def _unwritten(expected: Tensor) -> Tensor:
    out = torch.empty(expected.shape, dtype=torch.bfloat16, device=expected.device)
    bits_of(out).fill_(OUT_FILL_BITS)
    return out


def _kv_bytes(case: Case) -> int:
    return case.workload.kv_bytes(case.lengths_tokens[0])


def build_flashinfer(device: torch.device) -> None:
    """Compiles what the timing needs, by making one call; FlashInfer keeps the result on disk."""
    case = Case(family="gauss", lengths_tokens=(4096,), workload=PagedDecode(), table_pages=32)
    inputs = make_inputs(case, np.random.default_rng(0), device)
    flashinfer_leg(case, inputs, attend(inputs).output)
