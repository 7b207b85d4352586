# answer: discard off by
# kind: trivial answer
"""The V of the one key with the largest logit: hard attention."""
import numpy as np


def tokens(kv_cache, page_table, i, n):
    """float32 K and V of the first n tokens of row i, each (kv heads, n, head_dim)."""
    size = kv_cache.shape[3]
    kv = kv_cache[page_table[i, : -(-n // size)]].astype(np.float32).transpose(1, 2, 0, 3, 4)
    return kv.reshape(2, kv.shape[1], -1, kv.shape[4])[:, :, :n]


def decode(q, kv_cache, page_table, seq_lens, *, sm_scale, q_scale=1.0, k_scale=1.0, v_scale=1.0, out):
    heads = kv_cache.shape[2]
    for i in range(len(q)):
        k, v = tokens(kv_cache, page_table, i, int(seq_lens[i]))
        x = q[i].astype(np.float32).reshape(heads, -1, k.shape[2]) @ k.transpose(0, 2, 1)
        best = x.argmax(-1)
        for h in range(heads):
            out[i, h * best.shape[1] : (h + 1) * best.shape[1]] = (v[h, best[h]] * np.float32(v_scale)).astype(out.dtype)
