"""scripts/gpu_check.py without a GPU: what it says and writes, how it keeps its minutes, how it ends its children."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "scripts" / "gpu_check.py"
sys.path.insert(0, str(SCRIPT.parent))

from gpu_check_document import Budget, Document, Watchdog  # noqa: E402
from gpu_check_machine import describe, judge_sanitizer, start_child  # noqa: E402


def call(*words, cwd=None):
    return subprocess.run([sys.executable, str(SCRIPT), *words], capture_output=True, text=True, cwd=cwd, check=False)


def has_device():
    try:
        import torch
    except ImportError:
        return False
    return torch.cuda.is_available()


class Seconds:
    """A clock that a test moves."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def seconds():
    return Seconds()


@pytest.fixture
def document(tmp_path, seconds):
    return Document(tmp_path / "check.json", Budget(6, seconds), seed=7)


def read(document):
    return json.loads(document.path.read_text())


def test_the_help_tells_options_exit_codes_and_an_example():
    answer = call("--help")
    assert answer.returncode == 0
    for word in ("--out", "--only {correctness,timing}", "--minutes", "--seed", "Exit codes", "example:"):
        assert word in answer.stdout
    assert "python scripts/gpu_check.py --out gpu-check.json" in answer.stdout
    assert "cpu-interpreter" not in answer.stdout


@pytest.mark.skipif(has_device(), reason="this machine has a device")
def test_without_a_device_it_ends_with_2_and_two_lines_and_writes_nothing(tmp_path):
    answer = call("--out", "check.json", cwd=tmp_path)
    error, hint = answer.stderr.splitlines()
    assert answer.returncode == 2
    assert answer.stdout == ""
    assert error.startswith("error: ")
    assert hint.startswith("hint: ")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("--minutes", "0"), "more than 0"),
        (("--minutes", "soon"), "invalid"),
        (("--lengths", "128,4Q"), "not a context length"),
        (("--only", "everything"), "invalid choice"),
    ],
)
def test_a_wrong_option_is_said_and_ends_with_2(words, part):
    answer = call(*words)
    assert answer.returncode == 2
    assert part in answer.stderr
    assert "Traceback" not in answer.stderr


def test_a_part_has_room_only_before_what_is_reserved_for_the_next(seconds):
    budget = Budget(6, seconds)
    assert budget.has_room_for(360)
    assert not budget.has_room_for(300, reserve_s=75)
    seconds.now += 270
    assert (budget.spent_s, budget.left_s) == (270, 90)
    assert budget.has_room_for(15, reserve_s=75)
    assert not budget.has_room_for(16, reserve_s=75)
    seconds.now += 100
    assert not budget.has_room_for(0)


def test_the_document_is_one_json_that_is_replaced_whole(document, seconds):
    document.write()
    assert read(document) | {"started": "", "seconds": 0} == {
        "schema": "mjolnir.gpu-check/1",
        "ok": False,
        "complete": False,
        "started": "",
        "budget_s": 360,
        "seed": 7,
        "cases": [],
        "skipped": [],
        "seconds": 0,
    }
    seconds.now += 12.34
    document.add("cases", {"name": "one"})
    document.put(ok=True)
    document.write()
    assert (read(document)["ok"], read(document)["seconds"], read(document)["cases"]) == (True, 12.3, [{"name": "one"}])
    assert [path.name for path in document.path.parent.iterdir()] == ["check.json"]


def test_a_number_that_json_does_not_know_is_refused_and_the_file_stays(document):
    document.write()
    document.put(error=float("nan"))
    with pytest.raises(ValueError, match="JSON"):
        document.write()
    assert read(document)["seed"] == 7


def test_what_is_skipped_is_on_stderr_and_in_the_document(document, capsys):
    document.skip("timing: L 262144", "no time left in the budget")
    document.write()
    assert document.skipped == 1
    assert read(document)["skipped"] == [{"part": "timing: L 262144", "why": "no time left in the budget"}]
    assert "skipped: timing: L 262144: no time left" in capsys.readouterr().err


def test_a_part_that_hangs_is_named_and_ends_the_check_with_1(document, seconds, capsys):
    codes, child = [], start_child("slow", [sys.executable, "-c", "import time; time.sleep(60)"])
    watchdog = Watchdog(document, Budget(6, seconds), leave=codes.append)
    watchdog.children.append(child)
    watchdog.part = "sweep: needle L=128"
    watchdog.bark()
    assert codes == [1]
    assert child.process.returncode is not None
    assert read(document)["ended_by_budget"] == "sweep: needle L=128"
    assert read(document)["skipped"][0]["part"] == "sweep: needle L=128"
    assert capsys.readouterr().err.splitlines()[-2].startswith("error: the budget is over")


def test_a_child_that_takes_too_long_is_ended_with_all_that_it_started():
    grandchild = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'input()'], stdin=subprocess.PIPE)"
    child = start_child("slow", [sys.executable, "-c", f"print('begun', flush=True); {grandchild}"])
    while "begun" not in child.output():
        assert child.process.poll() is None
    assert not child.wait(0.01)
    assert child.last_line() == "begun"
    session = ["ps", "-o", "stat=", "-g", str(child.process.pid)]
    alive = subprocess.run(session, capture_output=True, text=True, check=False)
    assert [s for s in alive.stdout.split() if not s.startswith("Z")] == []


CASE_PASSED = '{"cases": [{"name": "needle", "passed": true}]}'
CASE_FAILED = '{"cases": [{"name": "needle", "passed": false}]}'


@pytest.mark.parametrize(
    ("log", "inner", "passed", "errors"),
    [
        ("========= ERROR SUMMARY: 0 errors", CASE_PASSED, True, 0),
        (
            "========= Invalid __global__ read of size 16 bytes\n========= ERROR SUMMARY: 3 errors",
            CASE_PASSED,
            False,
            3,
        ),
        ("========= ERROR SUMMARY: 0 errors", CASE_FAILED, False, 0),
        ("========= Error: Device not supported\n========= ERROR SUMMARY: 1 error", CASE_FAILED, None, None),
        ("killed", CASE_PASSED, None, None),
        ("========= ERROR SUMMARY: 0 errors", "", None, None),
    ],
    ids=["clean", "out of bounds", "wrong answer", "unsupported device", "no summary", "no answer"],
)
def test_what_memcheck_says_is_a_pass_a_fault_or_no_answer(log, inner, passed, errors):
    program = "import sys; from pathlib import Path; Path(sys.argv[1]).write_text(sys.argv[2]); print(sys.argv[3])"
    child = start_child("sanitizer", [sys.executable, "-c", program, "FOLDER/out.json", inner, log])
    assert child.wait(60)
    found = judge_sanitizer(child)
    assert (found["passed"], found["errors"]) == (passed, errors)
    if errors:
        assert found["detail"].startswith("Invalid __global__ read")


def test_the_commit_and_the_kernel_are_described_and_what_cannot_be_imported_is_named(monkeypatch):
    from types import SimpleNamespace

    monkeypatch.setitem(sys.modules, "flashinfer", None)
    torch = SimpleNamespace(__version__="2.11", version=SimpleNamespace(cuda="13.0"))
    facts = describe(torch, SimpleNamespace(__version__="3.6.0"), SimpleNamespace(type="cpu"))
    assert facts["versions"]["triton"] == "3.6.0"
    assert facts["commit"] is None or len(facts["commit"]) == 40
    assert len(facts["kernel"]["sha256"]) == 64
    assert "flashinfer" in facts["not_importable"]
    assert "necessary, not sufficient" in facts["device"]["name"]


@pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="needs triton (extra: gpu)")
def test_the_triton_kernel_passes_in_the_interpreter(tmp_path):
    out = tmp_path / "check.json"
    words = ["--device", "cpu-interpreter", "--only", "correctness", "--out", str(out), "--lengths", "128"]
    for q_dtype in ("bf16", "fp8_e4m3"):
        words += ["--match", f"sweep: q {q_dtype} kv fp8_e4m3 d256 page 128 24/4: needle ragged"]
    done = call(*words)
    assert done.returncode == 0, done.stderr
    document = json.loads(out.read_text())
    assert [case["q_dtype"] for case in document["cases"]] == ["bf16", "fp8_e4m3"]
    assert all(case["passed"] and case["calls"] == 3 for case in document["cases"])
    assert document["device"]["name"].startswith("Triton's interpreter")
