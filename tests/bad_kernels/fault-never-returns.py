# answer: crash correctness time limit
# kind: fault
# time limit: 3


def decode(q, kv_cache, page_table, seq_lens, *, sm_scale, q_scale=1.0, k_scale=1.0, v_scale=1.0, out):
    while True:
        pass

