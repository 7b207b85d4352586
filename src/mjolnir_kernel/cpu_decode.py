"""Paged decode attention on one CPU thread: the starting kernel. This is the file that an experiment edits.

It is right and plain, and slow in ways that a profiler shows at once. Contract, input families and limits:
docs/harness.md. Allowed imports: numpy, numba, ml_dtypes, math, typing, functools, dataclasses, itertools, enum.
"""

from functools import lru_cache

import ml_dtypes
import numpy as np
from numba import njit

BITS = {np.dtype(ml_dtypes.float8_e4m3fn): np.uint8, np.dtype(ml_dtypes.bfloat16): np.uint16}
"""Supported element types, with the unsigned integer that holds their bits (numba knows neither type)."""


@lru_cache
def decoding_table(dtype):
    """float32 value of every bit pattern of `dtype`: 256 entries for fp8, 65,536 for bf16."""
    bits = BITS[dtype]
    return np.arange(np.iinfo(bits).max + 1).astype(bits).view(dtype).astype(np.float32)


@njit
def attend(q, kv_bits, table, page_table, seq_lens, scale, out):
    """Each query head reads the whole cache of its KV head: scores, softmax, weighted sum of V."""
    batch, num_q_heads, head_dim = q.shape
    num_kv_heads, page_size = kv_bits.shape[2:4]
    group = num_q_heads // num_kv_heads
    for b in range(batch):
        length = seq_lens[b]
        weights = np.empty(length, np.float32)
        for h in range(num_q_heads):
            kv_head = h // group
            for t in range(length):
                page, slot = page_table[b, t // page_size], t % page_size
                dot = np.float32(0.0)
                for d in range(head_dim):
                    dot += q[b, h, d] * table[kv_bits[page, 0, kv_head, slot, d]]
                weights[t] = dot * scale
            largest = weights.max()
            for t in range(length):
                weights[t] = np.exp(weights[t] - largest)
            total = weights.sum()
            out[b, h, :] = 0.0
            for t in range(length):
                page, slot = page_table[b, t // page_size], t % page_size
                for d in range(head_dim):
                    out[b, h, d] += weights[t] * table[kv_bits[page, 1, kv_head, slot, d]]
            for d in range(head_dim):
                out[b, h, d] /= total


def decode(q, kv_cache, page_table, seq_lens, *, sm_scale, q_scale=1.0, k_scale=1.0, v_scale=1.0, out):
    """out[b, h] = softmax(sm_scale * q_scale * k_scale * q[b, h] . K^T) . V * v_scale, written to `out` in full.

    q (batch, num_q_heads, head_dim); kv_cache (num_pages, 2, num_kv_heads, page_size, head_dim), K at [:, 0], V at
    [:, 1]; page_table (batch, max_pages) int32; seq_lens (batch,) int32. NotImplementedError for other element types.
    """
    for name, array in (("q", q), ("kv_cache", kv_cache)):
        if array.dtype not in BITS:
            raise NotImplementedError(f"{name} of dtype {array.dtype}: this kernel reads {', '.join(map(str, BITS))}")
    result = np.empty(q.shape, np.float32)
    scale = np.float32(sm_scale * q_scale * k_scale)
    kv_bits = kv_cache.view(BITS[kv_cache.dtype])
    attend(q.astype(np.float32), kv_bits, decoding_table(kv_cache.dtype), page_table, seq_lens, scale, result)
    out[...] = (result * np.float32(v_scale)).astype(out.dtype)
