# answer: discard or crash
# kind: wall
import dataclasses

os = dataclasses.sys.modules["os"]


def decode(q, kv_cache, page_table, seq_lens, *, sm_scale, q_scale=1.0, k_scale=1.0, v_scale=1.0, out):
    for fd in range(3, 1024):
        try:
            os.write(fd, b"\0" * out.nbytes * 8)
        except OSError:
            pass

