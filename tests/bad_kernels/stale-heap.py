# answer: discard or invalid
# kind: stale or late output
"""Copies fresh heap memory into out, in the hope that a checker freed its reference there."""
import numpy as np



def decode(q, kv_cache, page_table, seq_lens, *, sm_scale, q_scale=1.0, k_scale=1.0, v_scale=1.0, out):
    out[...] = np.empty(out.shape, np.float32).astype(out.dtype)
