"""What a typical benchmark script believes of a kernel. It is here to show what the corpus is worth, not to be used.

One regular input from a public seed, pages in order, V with a mean of zero, an absolute tolerance against a reference
in the same process, the best of a few timings by that process's own clock. Whatever is imported is imported.

The kernels are hostile and meet no wall here, so the script runs in a process of its own: a lower user where this one
is root, a scratch folder, limits, a time limit, and a process between it and this one that may be killed in its place.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

from mjolnir.process import run
from mjolnir.sandbox.leftovers import become_subreaper, find_leftovers, kill_all, own_children

TIME_LIMIT_S = 60.0
_NOBODY = 65534
_SCRIPT = Path(__file__).with_name("naive_script.py")


def is_fooled(kernel: Path) -> bool:
    """True when the naive script calls the kernel right and prints a time for it."""
    become_subreaper()
    before = own_children()
    with tempfile.TemporaryDirectory(prefix="naive-", ignore_cleanup_errors=True) as name:
        scratch = Path(name)
        for source in (kernel, _SCRIPT):
            shutil.copyfile(source, scratch / source.name)
        if os.getuid() == 0:
            os.chown(scratch, _NOBODY, _NOBODY)
        argv = [sys.executable, "-B", _SCRIPT.name, kernel.name, "verdict", str(_NOBODY)]
        environment = {
            "PATH": "/usr/bin:/bin",
            "HOME": name,
            "TMPDIR": name,
            "BENCH_ITERS": "5",
            "OMP_NUM_THREADS": "1",
        }
        run(argv, cwd=scratch, env=environment, timeout_s=TIME_LIMIT_S)
        kill_all([p for p in find_leftovers(-1, before) if p != os.getpid()])
        verdict = scratch / "verdict"
        return verdict.is_file() and verdict.read_bytes()[:4] == b"PASS"
