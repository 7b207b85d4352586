"""Processes left behind are found though they left the session, cleared their environment and lost their parent."""

import os
import subprocess
import sys

import pytest

from mjolnir.sandbox.leftovers import become_subreaper, find_leftovers, kill_all, own_children, read_processes

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="orphans are found through /proc and a subreaper")

DAEMON = """
import os, sys
ready, end = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.write(end, b"%d" % os.getpid())
        os.execve(sys.executable, [sys.executable, "-c", "import time; time.sleep(60)"], {})
    os._exit(0)
print(os.read(ready, 20).decode(), flush=True)
sys.stdin.read()
"""


def start(program):
    return subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    )


def test_an_orphan_that_left_session_and_environment_is_found_and_killed():
    become_subreaper()
    before = own_children()
    with start(DAEMON) as worker:
        orphan = int(worker.stdout.readline())
        while read_processes()[orphan].parent not in (os.getpid(), worker.pid):
            os.sched_yield()
        found = find_leftovers(worker.pid, before | {worker.pid})
        assert orphan in found
        kill_all(found)
        assert orphan not in read_processes()
        worker.stdin.close()


def test_a_worker_that_started_nothing_leaves_nothing():
    before = own_children()
    with start("import sys; print(flush=True); sys.stdin.read()") as worker:
        worker.stdout.readline()
        assert find_leftovers(worker.pid, before | {worker.pid}) == []
        worker.stdin.close()
