# answer: invalid E_UNWRITTEN
# kind: fault
import numpy as np


def decode(q, kv_cache, page_table, seq_lens, *, sm_scale, q_scale=1.0, k_scale=1.0, v_scale=1.0, out):
    return np.zeros((3, 3), np.float32)

