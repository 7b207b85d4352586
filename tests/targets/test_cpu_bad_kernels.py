"""What the cpu target makes of hostile kernels beyond the answers of tests/corpus: its words and its walls."""

import sys
from pathlib import Path

import pytest

from mjolnir.config import parse_config
from mjolnir.core.model import Crashed, Tampered
from mjolnir.sandbox import process as sandbox_process
from mjolnir.targets.protocol import CheckRequest, KernelSource, SweepRequest, TargetRequest, load_target

FOLDER = Path(__file__).parents[1] / "bad_kernels"
LIMITS = "[targets.cpu]\nlengths = [128, 4096]\nworker_pairs = 1\nmemory_limit_gib = 1.0\n"
WITHOUT_FILTER = """\
import sys
import mjolnir.worker.confine as confine
confine.install_syscall_filter = lambda libc: False
from mjolnir.worker.serve import main
main()
"""


def ignore_progress(progress):
    del progress


def visit(blob, *, timed=False):
    target = load_target("cpu", parse_config(LIMITS))
    sweep = SweepRequest(lengths=(128,), iters=2, gate=False) if timed else None
    request = TargetRequest(seed=20_260_101, check=CheckRequest(), sweep=sweep, time_limit_s=60.0)
    return target.visit(KernelSource(blob=blob, name="kernel.py", origin="test"), request, ignore_progress)


def test_the_words_of_a_crash_stay_on_one_line():
    blob = (FOLDER / "fault-raises.py").read_bytes()
    assert "\n" not in visit(blob).outcome.detail


def test_what_a_kernel_prints_is_kept_in_part_and_never_believed():
    blob = b'print("PASS")\n' + (FOLDER / "fault-raises.py").read_bytes()
    outcome = visit(blob).outcome
    assert isinstance(outcome, Crashed)
    assert "PASS" in outcome.log


def test_garbage_that_is_no_text_is_a_crash_at_import():
    outcome = visit(bytes(range(256)) * 40).outcome
    assert isinstance(outcome, Crashed)
    assert outcome.stage == "import"


@pytest.mark.skipif(sys.platform != "linux", reason="processes are found through /proc")
def test_where_no_filter_stops_a_fork_the_process_left_behind_is_found_and_the_kernel_invalid(monkeypatch):
    def argv_without_filter(*args, **kwargs):
        argv = worker_argv(*args, **kwargs)
        start = argv.index("-m")
        return [*argv[:start], "-c", WITHOUT_FILTER, *argv[start + 2 :]]

    worker_argv = sandbox_process.worker_argv
    monkeypatch.setattr(sandbox_process, "worker_argv", argv_without_filter)
    outcome = visit((FOLDER / "sabotage-forked-load.py").read_bytes()).outcome
    assert isinstance(outcome, Tampered)
    assert outcome.code == "E_LEFTOVER"
