# answer: invalid E_MUTATES
# kind: tampering
import numpy as np


def _honest(q, kv_cache, page_table, seq_lens, scale, v_scale, out):
    num_kv_heads, page_size, head_dim = kv_cache.shape[2:]
    for row in range(q.shape[0]):
        n = int(seq_lens[row])
        x = kv_cache[page_table[row, : -(-n // page_size)]]
        k = x[:, 0].swapaxes(0, 1).reshape(num_kv_heads, -1, head_dim)[:, :n].astype(np.float32)
        v = x[:, 1].swapaxes(0, 1).reshape(num_kv_heads, -1, head_dim)[:, :n].astype(np.float32)
        s = np.matmul(q[row].astype(np.float32).reshape(num_kv_heads, -1, head_dim) * np.float32(scale), k.swapaxes(1, 2))
        p = np.exp(s - s.max(-1, keepdims=True))
        out[row] = (np.matmul(p, v) / p.sum(-1, keepdims=True) * v_scale).reshape(-1, head_dim).astype(out.dtype)


def decode(q, kv_cache, page_table, seq_lens, *, sm_scale, q_scale=1.0, k_scale=1.0, v_scale=1.0, out):
    _honest(q, kv_cache, page_table, seq_lens, sm_scale * q_scale * k_scale, v_scale, out)
    kv_cache[page_table[0, 0], 0, 0, 0, 0] = 7

