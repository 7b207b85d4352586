"""A facts worker that answers as it is told to: python bad_answer.py WAY FD."""

import os
import sys
import time

way, fd = sys.argv[1], int(sys.argv[2])
print("a word for the log", flush=True)
if way == "never stands":
    time.sleep(60)
if way == "ends before it stands":
    raise SystemExit(3)
os.write(fd, b"\x07" if way == "stands wrongly" else b"\0")
if way == "silent":
    time.sleep(60)
if way == "exits":
    raise SystemExit(0)
size = 1 << 31 if way == "huge claim" else 2
os.write(fd, size.to_bytes(4, "little") + (b"" if way == "half" else b"{}"))
