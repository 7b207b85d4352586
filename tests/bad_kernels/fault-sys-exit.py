# answer: crash correctness SystemExit
# kind: fault


def decode(q, kv_cache, page_table, seq_lens, *, sm_scale, q_scale=1.0, k_scale=1.0, v_scale=1.0, out):
    raise SystemExit(0)

