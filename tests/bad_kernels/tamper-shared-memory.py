# answer: crash correctness not permitted
# kind: wall
import ctypes


def decode(q, kv_cache, page_table, seq_lens, *, sm_scale, q_scale=1.0, k_scale=1.0, v_scale=1.0, out):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.shmget(0x6D6A, 4096, 0o1666) < 0:
        raise OSError("shared memory that outlives its process: not permitted")
