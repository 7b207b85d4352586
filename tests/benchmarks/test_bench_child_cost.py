"""What a measured command costs is what it and its children really used."""

from __future__ import annotations

import os
import sys

import pytest
from child_cost import ChildFailed, run_child

EAT_60_MIB = "x = bytearray(60 << 20)"
SPIN = "import time\nwhile time.process_time() < 0.2: pass"


def run_python(code, tmp_path, **options):
    return run_child([sys.executable, "-c", code], cwd=tmp_path, env=dict(os.environ), **options)


def test_cpu_time_of_a_childs_child_counts(tmp_path):
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {SPIN!r}])"
    assert run_python(code, tmp_path).cpu_s >= 0.2


def test_peak_memory_of_a_childs_child_counts(tmp_path):
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {EAT_60_MIB!r}])"
    assert run_python(code, tmp_path).peak_bytes > 60 << 20


def test_what_a_command_prints_comes_back(tmp_path):
    assert run_python("print('one')", tmp_path).out == "one\n"


def test_a_command_that_fails_is_no_measurement(tmp_path):
    with pytest.raises(ChildFailed, match="no such thing"):
        run_python("raise SystemExit('no such thing')", tmp_path)


def test_a_command_that_never_ends_is_ended(tmp_path):
    with pytest.raises(ChildFailed):
        run_python("while True: pass", tmp_path, limit_s=0.3)


def test_what_the_benchmark_holds_itself_is_not_a_childs_peak(tmp_path):
    own = bytearray(100 << 20)
    assert run_python("pass", tmp_path).peak_bytes < 50 << 20
    assert len(own) > 0
