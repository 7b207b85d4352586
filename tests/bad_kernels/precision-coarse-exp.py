# answer: discard
# kind: precision
"""exp as two to a power that is rounded to eighths."""
import numpy as np


def tokens(kv_cache, page_table, i, n):
    """float32 K and V of the first n tokens of row i, each (kv heads, n, head_dim)."""
    size = kv_cache.shape[3]
    kv = kv_cache[page_table[i, : -(-n // size)]].astype(np.float32).transpose(1, 2, 0, 3, 4)
    return kv.reshape(2, kv.shape[1], -1, kv.shape[4])[:, :, :n]


def decode(q, kv_cache, page_table, seq_lens, *, sm_scale, q_scale=1.0, k_scale=1.0, v_scale=1.0, out):
    for i in range(len(q)):
        k, v = tokens(kv_cache, page_table, i, int(seq_lens[i]))
        scale = np.float32(sm_scale * q_scale * k_scale * 1.4426950408889634)
        x = (q[i].astype(np.float32) * scale).reshape(len(k), -1, k.shape[2]) @ k.transpose(0, 2, 1)
        p = np.exp2(np.rint((x - x.max(-1, keepdims=True)) * 4) / 4)
        out[i] = (p @ v / p.sum(-1, keepdims=True) * np.float32(v_scale)).reshape(out[i].shape).astype(out.dtype)
