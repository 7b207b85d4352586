"""The reference on cpu: numpy and BLAS over gathered, dequantised pages, in float32, chunk by chunk.

Gather, cast and BLAS are all inside the timed call. Flash-decoding's running maximum (Dao et al., 2023) joins chunks.
"""

from __future__ import annotations

from functools import lru_cache

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

CHUNK_TOKENS = 1024
"""K and V of one chunk in float32 stay within a few MB of cache at the default shape."""

Array = NDArray[np.float32]


@lru_cache(maxsize=4)
def _table(dtype: np.dtype[np.generic]) -> Array | None:
    """All 256 values of an 8-bit dtype; None for a wider one."""
    return np.arange(256, dtype=np.uint8).view(dtype).astype(np.float32) if dtype.itemsize == 1 else None


def _widen(x: NDArray[np.generic]) -> Array:
    table = _table(x.dtype)
    if table is not None:
        return np.take(table, x.view(np.uint8))
    return (x.view(np.uint16).astype(np.uint32) << np.uint32(16)).view(np.float32)


def decode(
    q: NDArray[np.generic],
    kv_cache: NDArray[np.generic],
    page_table: NDArray[np.int32],
    seq_lens: NDArray[np.int32],
    *,
    sm_scale: float,
    q_scale: float = 1.0,
    k_scale: float = 1.0,
    v_scale: float = 1.0,
    out: NDArray[np.generic],
) -> None:
    """The contract of docs/harness.md: writes `out` (batch, num_q_heads, head_dim) bfloat16."""
    _, _, num_kv_heads, page_size, head_dim = kv_cache.shape
    group = q.shape[1] // num_kv_heads
    pages_per_chunk = max(1, CHUNK_TOKENS // page_size)
    queries = _widen(q).reshape(q.shape[0], num_kv_heads, group, head_dim) * np.float32(sm_scale * q_scale * k_scale)
    for row, length in enumerate(seq_lens.tolist()):
        pages = page_table[row, : -(-length // page_size)]
        total = np.zeros((num_kv_heads, group, head_dim), np.float32)
        weight = np.zeros((num_kv_heads, group, 1), np.float32)
        top = np.full((num_kv_heads, group, 1), -np.inf, np.float32)
        for first in range(0, len(pages), pages_per_chunk):
            tokens = min(length - first * page_size, pages_per_chunk * page_size)
            k, v = _gather(kv_cache, pages[first : first + pages_per_chunk], tokens)
            scores = np.matmul(queries[row], k.swapaxes(1, 2))
            new_top = np.maximum(top, scores.max(-1, keepdims=True))
            scores -= new_top
            np.exp(scores, out=scores)
            fade = np.exp(top - new_top)
            total = total * fade + np.matmul(scores, v)
            weight = weight * fade + scores.sum(-1, keepdims=True)
            top = new_top
        total *= np.float32(v_scale) / weight
        out[row] = total.reshape(-1, head_dim).astype(ml_dtypes.bfloat16)


def _gather(kv_cache: NDArray[np.generic], pages: NDArray[np.int32], tokens: int) -> tuple[Array, Array]:
    """K and V of some pages, each (num_kv_heads, tokens, head_dim) float32."""
    chunk = _widen(kv_cache[pages])
    num_kv_heads, head_dim = chunk.shape[2], chunk.shape[4]
    k = chunk[:, 0].swapaxes(0, 1).reshape(num_kv_heads, -1, head_dim)[:, :tokens]
    v = chunk[:, 1].swapaxes(0, 1).reshape(num_kv_heads, -1, head_dim)[:, :tokens]
    return k, v
