# answer: invalid
# kind: stale or late output
"""Writes all but the last element of each head."""
import numpy as np


def row(kv_cache, page_table, i, n):
    """float32 K and V of row i, each (kv heads, n, head_dim)."""
    page = kv_cache.shape[3]
    pages = kv_cache[page_table[i, : -(-n // page)]].astype(np.float32)
    kv = pages.transpose(1, 2, 0, 3, 4)
    return kv.reshape(*kv.shape[:2], -1, kv.shape[4])[:, :, :n]


def weights(q, k, scale):
    """(kv heads, group, n) unnormalised softmax weights of one row."""
    x = q.astype(np.float32).reshape(k.shape[0], -1, k.shape[2]) @ k.transpose(0, 2, 1) * np.float32(scale)
    return np.exp(x - x.max(-1, keepdims=True))


def mean(p, v, v_scale):
    return (p @ v / p.sum(-1, keepdims=True) * np.float32(v_scale)).reshape(-1, v.shape[2])


def decode(q, kv_cache, page_table, seq_lens, *, sm_scale, q_scale=1.0, k_scale=1.0, v_scale=1.0, out):
    for i in range(len(q)):
        n = int(seq_lens[i])
        k, v = row(kv_cache, page_table, i, n)
        out[i, :, :-1] = mean(weights(q[i], k, sm_scale * q_scale * k_scale), v, v_scale).astype(out.dtype)[:, :-1]
