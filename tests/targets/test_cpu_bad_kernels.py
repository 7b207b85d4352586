"""Every file of tests/bad_kernels gets the answer on its first line, from real confined workers."""

from pathlib import Path

import pytest

from mjolnir.config import parse_config
from mjolnir.core.model import Crashed, Incorrect, Tampered
from mjolnir.targets.protocol import CheckRequest, KernelSource, SweepRequest, TargetRequest, load_target

FOLDER = Path(__file__).parents[1] / "bad_kernels"
FILES = sorted(FOLDER.glob("*.py"))
SEED = 20_260_101
LENGTHS = (128, 1024, 4096)
LIMITS = "[targets.cpu]\nlengths = [128, 1024, 4096]\nworker_pairs = 1\nmemory_limit_gib = 1.0\n"


def ignore_progress(progress):
    del progress


def visit(blob, *, time_limit_s=60.0, seed=SEED, timed=False):
    target = load_target("cpu", parse_config(LIMITS))
    sweep = SweepRequest(lengths=LENGTHS, iters=2, gate=False) if timed else None
    request = TargetRequest(seed=seed, check=CheckRequest(), sweep=sweep, time_limit_s=time_limit_s)
    return target.visit(KernelSource(blob=blob, name="kernel.py", origin="test"), request, ignore_progress)


def as_words(outcome):
    """The outcome in the words of the first lines: status, stage or code, detail."""
    match outcome:
        case Crashed(stage=stage, detail=detail):
            return "crash", f"{stage} {detail}"
        case Incorrect(failures=failures):
            return "discard", " ".join(f.detail for f in failures)
        case Tampered(code=code, detail=detail):
            return "invalid", f"{code} {detail}"
    return "keep", "correct"


@pytest.mark.parametrize("path", FILES, ids=[p.stem for p in FILES])
def test_a_bad_kernel_is_answered_as_its_first_line_says(path):
    blob = path.read_bytes()
    first = blob.split(b"\n", 1)[0].decode()
    words = first.removeprefix("# answer:").split()
    limit_s = 3.0 if "never-returns" in path.stem else 60.0

    found, text = as_words(visit(blob, time_limit_s=limit_s, timed=True).outcome)

    assert found in words, text
    for word in set(words) - {"keep", "discard", "invalid", "crash", "or"}:
        assert word in text


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
