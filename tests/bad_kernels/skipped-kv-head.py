# answer: discard off by
# kind: skipped work
"""Computes the even KV heads and gives their answers to the odd ones too."""
import numpy as np


def tokens(kv_cache, page_table, i, n):
    """float32 K and V of the first n tokens of row i, each (kv heads, n, head_dim)."""
    size = kv_cache.shape[3]
    kv = kv_cache[page_table[i, : -(-n // size)]].astype(np.float32).transpose(1, 2, 0, 3, 4)
    return kv.reshape(2, kv.shape[1], -1, kv.shape[4])[:, :, :n]


def soften(q, k, v, scale):
    """(q heads, head_dim) of one row."""
    x = (q.astype(np.float32) * np.float32(scale)).reshape(len(k), -1, k.shape[2]) @ k.transpose(0, 2, 1)
    p = np.exp(x - x.max(-1, keepdims=True))
    return (p @ v / p.sum(-1, keepdims=True)).reshape(-1, v.shape[2])


def decode(q, kv_cache, page_table, seq_lens, *, sm_scale, q_scale=1.0, k_scale=1.0, v_scale=1.0, out):
    group = q.shape[1] // kv_cache.shape[2]
    for i in range(len(q)):
        k, v = tokens(kv_cache, page_table, i, int(seq_lens[i]))
        even = q[i].reshape(-1, group, q.shape[2])[::2].reshape(-1, q.shape[2])
        half = soften(even, k[::2], v[::2], sm_scale * q_scale * k_scale) * np.float32(v_scale)
        both = np.repeat(half.reshape(-1, 1, group, q.shape[2]), 2, axis=1).reshape(-1, q.shape[2])
        out[i] = both[: q.shape[1]].astype(out.dtype)
