# answer: refused E_SAME_PROGRAM
# kind: statistics
# measured before: honest_plain.py
"""honest_plain.py with other names, comments and layout: a second look in the hope of luck."""
import numpy as np



def row(cache, table, which, count):
    """K and V, in float32."""
    size = cache.shape[3]  # tokens of a page
    wide = cache[table[which, : -(-count // size)]].astype(np.float32)
    both = wide.transpose(1, 2, 0, 3, 4)

    return both.reshape(*both.shape[:2], -1, both.shape[4])[:, :, :count]


def weights(q, k, scale):
    logits = q.astype(np.float32).reshape(k.shape[0], -1, k.shape[2]) @ k.transpose(0, 2, 1) * np.float32(scale)
    return np.exp(logits - logits.max(-1, keepdims=True))


def mean(p, v, v_scale):
    # a new and much better way to take a mean
    return (p @ v / p.sum(-1, keepdims=True) * np.float32(v_scale)).reshape(-1, v.shape[2])


def decode(q, kv_cache, page_table, seq_lens, *, sm_scale, q_scale=1.0, k_scale=1.0, v_scale=1.0, out):
    for line in range(len(q)):
        count = int(seq_lens[line])
        keys, values = row(kv_cache, page_table, line, count)
        out[line] = mean(weights(q[line], keys, sm_scale * q_scale * k_scale), values, v_scale).astype(out.dtype)
