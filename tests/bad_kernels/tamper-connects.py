# answer: crash correctness PermissionError
# kind: wall
import dataclasses

socket = dataclasses.sys.modules.get("socket") or __import__("socket")


def decode(q, kv_cache, page_table, seq_lens, *, sm_scale, q_scale=1.0, k_scale=1.0, v_scale=1.0, out):
    socket.create_connection(("127.0.0.1", 9))

