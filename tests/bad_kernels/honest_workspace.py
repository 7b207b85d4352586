# answer: keep or discard
# kind: control
"""Right: keeps scratch arrays by shape and type between calls, and fills them anew in each."""
import numpy as np


def tokens(kv_cache, page_table, i, n):
    """float32 K and V of the first n tokens of row i, each (kv heads, n, head_dim)."""
    size = kv_cache.shape[3]
    kv = kv_cache[page_table[i, : -(-n // size)]].astype(np.float32).transpose(1, 2, 0, 3, 4)
    return kv.reshape(2, kv.shape[1], -1, kv.shape[4])[:, :, :n]


SCRATCH = {}


def scratch(shape):
    if shape not in SCRATCH:
        SCRATCH[shape] = np.empty(shape, np.float32)
    return SCRATCH[shape]


def decode(q, kv_cache, page_table, seq_lens, *, sm_scale, q_scale=1.0, k_scale=1.0, v_scale=1.0, out):
    for i in range(len(q)):
        k, v = tokens(kv_cache, page_table, i, int(seq_lens[i]))
        heads, n, dim = k.shape
        x = scratch((heads, q.shape[1] // heads, n))
        np.matmul((q[i].astype(np.float32) * np.float32(sm_scale * q_scale * k_scale)).reshape(heads, -1, dim), k.transpose(0, 2, 1), out=x)
        x -= x.max(-1, keepdims=True)
        np.exp(x, out=x)
        sums = scratch((heads, q.shape[1] // heads, dim))
        np.matmul(x, v, out=sums)
        out[i] = (sums / x.sum(-1, keepdims=True) * np.float32(v_scale)).reshape(-1, dim).astype(out.dtype)
