# answer: discard
# kind: precision
"""Sums of weights and of weighted V kept in bf16 between tiles of 16 tokens."""
import ml_dtypes
import numpy as np


def tokens(kv_cache, page_table, i, n):
    """float32 K and V of the first n tokens of row i, each (kv heads, n, head_dim)."""
    size = kv_cache.shape[3]
    kv = kv_cache[page_table[i, : -(-n // size)]].astype(np.float32).transpose(1, 2, 0, 3, 4)
    return kv.reshape(2, kv.shape[1], -1, kv.shape[4])[:, :, :n]


TILE = 16


def decode(q, kv_cache, page_table, seq_lens, *, sm_scale, q_scale=1.0, k_scale=1.0, v_scale=1.0, out):
    short = ml_dtypes.bfloat16
    for i in range(len(q)):
        n = int(seq_lens[i])
        k, v = tokens(kv_cache, page_table, i, n)
        x = (q[i].astype(np.float32) * np.float32(sm_scale * q_scale * k_scale)).reshape(len(k), -1, k.shape[2]) @ k.transpose(0, 2, 1)
        p = np.exp(x - x.max(-1, keepdims=True))
        total = np.zeros((*p.shape[:2], 1), short)
        sums = np.zeros((*p.shape[:2], v.shape[2]), short)
        for t in range(0, n, TILE):
            part = p[:, :, t : t + TILE]
            total = (total.astype(np.float32) + part.sum(-1, keepdims=True)).astype(short)
            sums = (sums.astype(np.float32) + part @ v[:, t : t + TILE]).astype(short)
        out[i] = (sums.astype(np.float32) / total.astype(np.float32) * np.float32(v_scale)).reshape(out[i].shape).astype(out.dtype)
