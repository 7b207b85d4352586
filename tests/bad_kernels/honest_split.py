# answer: keep or discard
# kind: control
"""Right: splits a row into parts with a number of splits that depends on its length, and joins them by their maxima."""
import numpy as np


def tokens(kv_cache, page_table, i, n):
    """float32 K and V of the first n tokens of row i, each (kv heads, n, head_dim)."""
    size = kv_cache.shape[3]
    kv = kv_cache[page_table[i, : -(-n // size)]].astype(np.float32).transpose(1, 2, 0, 3, 4)
    return kv.reshape(2, kv.shape[1], -1, kv.shape[4])[:, :, :n]


SPLITS = {128: 1, 1024: 2, 4096: 4, 16384: 8}


def splits(n):
    return next((count for most, count in SPLITS.items() if n <= most), 16)


def decode(q, kv_cache, page_table, seq_lens, *, sm_scale, q_scale=1.0, k_scale=1.0, v_scale=1.0, out):
    scale = np.float32(sm_scale * q_scale * k_scale)
    for i in range(len(q)):
        n = int(seq_lens[i])
        k, v = tokens(kv_cache, page_table, i, n)
        heads, _, dim = k.shape
        rows = (q[i].astype(np.float32) * scale).reshape(heads, -1, dim)
        tops, totals, sums = [], [], []
        for part in np.array_split(np.arange(n), min(n, splits(n))):
            x = rows @ k[:, part[0] : part[-1] + 1].transpose(0, 2, 1)
            tops.append(x.max(-1, keepdims=True))
            p = np.exp(x - tops[-1])
            totals.append(p.sum(-1, keepdims=True))
            sums.append(p @ v[:, part[0] : part[-1] + 1])
        top = np.max(tops, axis=0)
        shares = [np.exp(t - top) for t in tops]
        total = sum(a * b for a, b in zip(shares, totals))
        joined = sum(a * b for a, b in zip(shares, sums)) / total
        out[i] = (joined * np.float32(v_scale)).reshape(-1, dim).astype(out.dtype)
