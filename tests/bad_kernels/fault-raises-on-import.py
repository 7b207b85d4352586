# answer: crash import ZeroDivisionError
# kind: fault
X = 1 / 0


def decode(q, kv_cache, page_table, seq_lens, *, sm_scale, q_scale=1.0, k_scale=1.0, v_scale=1.0, out):
    pass

