# answer: keep or discard
# kind: control
"""Right: large constant tables made at import and one filled at first use, keyed by type alone."""
from functools import lru_cache

import numpy as np


def soften(q, k, v, scale):
    """(q heads, head_dim) of one row."""
    x = (q.astype(np.float32) * np.float32(scale)).reshape(len(k), -1, k.shape[2]) @ k.transpose(0, 2, 1)
    p = np.exp(x - x.max(-1, keepdims=True))
    return (p @ v / p.sum(-1, keepdims=True)).reshape(-1, v.shape[2])


GRID = np.exp2(np.arange(-64, 64, dtype=np.float64)).astype(np.float32)
TILES = {128: 64, 1024: 256, 4096: 512}


@lru_cache(maxsize=None)
def values_of(dtype):
    """Every value of a one-byte type."""
    return np.arange(256).astype(np.uint8).view(dtype).astype(np.float32)


def decode(q, kv_cache, page_table, seq_lens, *, sm_scale, q_scale=1.0, k_scale=1.0, v_scale=1.0, out):
    size = kv_cache.shape[3]
    for i in range(len(q)):
        n = int(seq_lens[i])
        pages = kv_cache[page_table[i, : -(-n // size)]]
        wide = values_of(pages.dtype)[pages.view(np.uint8)] if pages.dtype.itemsize == 1 else pages.astype(np.float32)
        kv = wide.transpose(1, 2, 0, 3, 4).reshape(2, kv_cache.shape[2], -1, kv_cache.shape[4])[:, :, :n]
        out[i] = (soften(q[i], kv[0], kv[1], sm_scale * q_scale * k_scale) * np.float32(v_scale) * GRID[64]).astype(out.dtype)
