# answer: keep or discard
# kind: control
"""Right: numba, one pass with a running maximum, and a page table cache that lives for one call."""
import numba
import numpy as np


def tokens(kv_cache, page_table, i, n):
    """float32 K and V of the first n tokens of row i, each (kv heads, n, head_dim)."""
    size = kv_cache.shape[3]
    kv = kv_cache[page_table[i, : -(-n // size)]].astype(np.float32).transpose(1, 2, 0, 3, 4)
    return kv.reshape(2, kv.shape[1], -1, kv.shape[4])[:, :, :n]


@numba.njit(fastmath=False)
def pass_over(q, k, v, out):
    heads, n, dim = k.shape
    group = q.shape[0] // heads
    for h in range(q.shape[0]):
        top, total = np.float32(-np.inf), np.float32(0)
        sums = np.zeros(dim, np.float32)
        for t in range(n):
            x = np.float32(0)
            for d in range(dim):
                x += q[h, d] * k[h // group, t, d]
            if x > top:
                shrink = np.exp(top - x)
                total *= shrink
                sums *= shrink
                top = x
            w = np.exp(x - top)
            total += w
            for d in range(dim):
                sums[d] += w * v[h // group, t, d]
        out[h] = sums / total


def decode(q, kv_cache, page_table, seq_lens, *, sm_scale, q_scale=1.0, k_scale=1.0, v_scale=1.0, out):
    scale = np.float32(sm_scale * q_scale * k_scale)
    for i in range(len(q)):
        kv = tokens(kv_cache, page_table, i, int(seq_lens[i]))
        answer = np.empty(q.shape[1:], np.float32)
        pass_over(q[i].astype(np.float32) * scale, np.ascontiguousarray(kv[0]), np.ascontiguousarray(kv[1]), answer)
        out[i] = (answer * np.float32(v_scale)).astype(out.dtype)
