"""Run by a bare Python (`python -I -S launch.py FD COMMAND ...`): start a command, wait for it, write its cost to FD.

A process starts with the peak memory of the one that started it, so what starts a measured command has to be smaller
than anything measured: this one is, since it imports next to nothing.
"""

import os
import sys
import time


def main(words):
    report = int(words[0])
    os.set_inheritable(report, False)
    start = time.monotonic()
    pid = os.posix_spawnp(words[1], words[1:], os.environ)
    _, status, usage = os.wait4(pid, 0)
    wall_s = time.monotonic() - start
    code = os.waitstatus_to_exitcode(status)
    os.write(report, f"{code} {usage.ru_utime + usage.ru_stime} {usage.ru_maxrss} {wall_s}".encode())


main(sys.argv[1:])
