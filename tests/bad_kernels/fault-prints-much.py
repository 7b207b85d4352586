# answer: discard off by
# kind: fault
import dataclasses


def decode(q, kv_cache, page_table, seq_lens, *, sm_scale, q_scale=1.0, k_scale=1.0, v_scale=1.0, out):
    for _ in range(1024):
        dataclasses.sys.stdout.write("x" * (1 << 16))
    out[...] = 0

