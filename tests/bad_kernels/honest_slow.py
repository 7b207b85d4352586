# answer: keep or discard
# kind: control
"""Right and slow: float64, one head after another."""
import numpy as np


def tokens(kv_cache, page_table, i, n):
    """float32 K and V of the first n tokens of row i, each (kv heads, n, head_dim)."""
    size = kv_cache.shape[3]
    kv = kv_cache[page_table[i, : -(-n // size)]].astype(np.float32).transpose(1, 2, 0, 3, 4)
    return kv.reshape(2, kv.shape[1], -1, kv.shape[4])[:, :, :n]


def decode(q, kv_cache, page_table, seq_lens, *, sm_scale, q_scale=1.0, k_scale=1.0, v_scale=1.0, out):
    group = q.shape[1] // kv_cache.shape[2]
    for i in range(len(q)):
        k, v = tokens(kv_cache, page_table, i, int(seq_lens[i]))
        for h in range(q.shape[1]):
            x = k[h // group].astype(np.float64) @ q[i, h].astype(np.float64) * (sm_scale * q_scale * k_scale)
            p = np.exp(x - x.max())
            out[i, h] = (p @ v[h // group] / p.sum() * v_scale).astype(out.dtype)
