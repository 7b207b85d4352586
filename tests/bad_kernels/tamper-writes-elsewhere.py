# answer: crash correctness PermissionError
# kind: wall
_open = open


def decode(q, kv_cache, page_table, seq_lens, *, sm_scale, q_scale=1.0, k_scale=1.0, v_scale=1.0, out):
    _open("/tmp/mjolnir-was-here", "w")

