# answer: discard or invalid
# kind: hidden state
# only caught by: changed page
"""Keeps results under the contents of all inputs but V."""
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


def honest(q, kv_cache, page_table, seq_lens, scale, v_scale, out):
    for i in range(len(q)):
        k, v = row(kv_cache, page_table, i, int(seq_lens[i]))
        out[i] = mean(weights(q[i], k, scale), v, v_scale).astype(out.dtype)


seen = {}


def decode(q, kv_cache, page_table, seq_lens, *, sm_scale, q_scale=1.0, k_scale=1.0, v_scale=1.0, out):
    key = hash((q.tobytes(), page_table.tobytes(), seq_lens.tobytes(), kv_cache[:, 0].tobytes()))
    if key not in seen:
        honest(q, kv_cache, page_table, seq_lens, sm_scale * q_scale * k_scale, v_scale, out)
        seen[key] = out.copy()
    out[...] = seen[key]
