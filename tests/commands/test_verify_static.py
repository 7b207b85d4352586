"""`mjolnir verify static` from outside: facts, refusals and their words, with doubles of compiler and worker."""

from __future__ import annotations

import contextlib
import importlib.util
import json
from pathlib import Path

import pytest

from doubles.research import Research
from doubles.static_tools import make_tools
from mjolnir.sandbox.answer import NoAnswer
from mjolnir.targets import static_facts

SAMPLE = (Path(__file__).parents[1] / "fixtures" / "sass" / "attend-fp8-sm_110a.sass").read_text()
KERNEL = "src/attend.py"
CONFIG = f"""\
[targets.thor]
kernel = "{KERNEL}"
lengths = [128, 4096, 32768]
"""
PLAIN = "import torch\n\n\ndef decode(*args, out):\n    pass\n"
PTX = "// a program"


class Worker:
    """Answers in the place of the confined worker: what the kernel's launches are is told by the test."""

    def __init__(self, lab, mode, kernel, request):
        self.lab, self.mode, self.kernel, self.request = lab, mode, kernel, request
        self.log = ""

    def read_answer(self, deadline):
        del deadline
        told = self.lab.told.get(self.kernel.decode(), self.lab.told.get("any", {}))
        if self.mode == "traffic" and "uncounted" in told:
            raise NoAnswer(told["uncounted"])
        failure = told.get("failure")
        runs = [] if failure else [self._run(q, n, told) for q in self.request["q_dtypes"] for n in self._lengths()]
        units = {"u": self._unit(told)} if self.mode == "capture" and not failure else {}
        answer = {"triton": "3.9.0", "torch": "2.13.0", "runs": runs, "units": units, "failure": failure}
        return json.dumps(answer).encode()

    def _lengths(self):
        return self.request["lengths"]

    def _run(self, q_dtype, length, told):
        grid = [4, min(10, length // 128), 1]
        if self.mode == "traffic":
            kv_bytes = round(2 * 4 * 256 * length * told.get("ratio", 1.0))
            one = {"kernel": "attend", "grid": grid, "kv_bytes": kv_bytes, "stored_bytes": 0, "sampled": 11,
                   "is_uniform": True, "bytes_per_pass": 32768.0, "dots_per_pass": 2}  # fmt: skip
        else:
            one = {"kernel": "attend", "grid": grid, "warps": told.get("warps", 4), "stages": 3, "ctas_per_cluster": 1,
                   "shared_bytes": 75_000, "tmem_columns": 64, "is_cooperative": False, "uses_pdl": False,
                   "arguments": [], "unit": "u"}  # fmt: skip
        return {"q_dtype": q_dtype, "length": length, "launches": [one], "failure": None}

    def _unit(self, told):
        options = ["-v", f"--gpu-name=sm_{self.request['device']['capability']}a"]
        return {"ptx": told.get("ptx", PTX), "tool": "ptxas-blackwell", "options": options, "loop_dots": 2}


class Lab(Research):
    """A repository with a GPU kernel. `told`: what the worker answers, by the kernel's text or for any."""

    told: dict[str, dict[str, object]]

    def static(self, *words):
        return self.call("verify", "static", *words)


@pytest.fixture
def lab(tmp_path, mjolnir, monkeypatch):
    lab = Lab(tmp_path / "lab", mjolnir)
    lab.told = {}
    lab.start_repository(config=CONFIG, commit=False)
    lab.write(KERNEL, PLAIN)
    lab.git("add", "-A")
    lab.git("commit", "-qm", "start")
    tools = make_tools(tmp_path / "bin", SAMPLE)
    monkeypatch.setattr(static_facts, "find_tools", lambda: tools)

    @contextlib.contextmanager
    def ask(module, words, *, kernel, request, memory_bytes):
        assert module == "mjolnir.worker.capture"
        assert memory_bytes > 2**30
        yield Worker(lab, words["mode"], kernel, request)

    monkeypatch.setattr(static_facts, "ask_worker", ask)
    return lab


def test_the_facts_are_told_as_facts(lab):
    said = lab.static()
    assert said.code == 0, said.err
    assert said.out.startswith(f"reading {KERNEL} of the work tree")
    assert "STATIC (no GPU): not a timing. compiles sm_110a ok" in said.out
    assert ">= 245.8 us at 32K is the DRAM floor, not a prediction" in said.out
    assert not lab.ledger.exists()


def test_the_json_has_the_shape_of_the_contract(lab):
    answer = lab.static("--json").json
    assert (answer["schema"], answer["arch"], answer["compiles"]) == ("mjolnir.static/1", "sm_110a", True)
    assert len(answer["code_hash"]) == 64
    assert answer["floor_us"].keys() == {"32768"}
    first = answer["launches"][0]
    assert first["lengths"] == [128]
    assert {"kernel", "grid", "warps", "stages", "registers", "spills", "shared_bytes", "tmem_columns", "ctas_per_sm",
            "limiter", "instructions_per_kv_row", "mix", "bytes_ratio"} <= first.keys()  # fmt: skip
    assert first["bytes_ratio"] == 1.0
    assert first["instructions_per_kv_row"] == first["loop_instructions"] * 4 / 64


def test_both_q_dtypes_are_compiled_when_asked_for(lab):
    assert {one["q_dtype"] for one in lab.static("--json").json["launches"]} == {"bf16"}
    answer = lab.static("--dtypes", "fp8 bf16", "--json").json
    assert {one["q_dtype"] for one in answer["launches"]} == {"bf16", "fp8_e4m3"}
    assert lab.static("--dtypes", "int4").code == 2


def test_another_device_changes_arch_and_hash(lab):
    thor, h200 = lab.static("--json").json, lab.static("--arch", "sm_90a", "--json").json
    assert (h200["arch"], h200["device"]) == ("sm_90a", "H200")
    assert h200["code_hash"] != thor["code_hash"]


def test_a_comparison_with_a_commit_says_same_or_what_changed(lab):
    lab.write(KERNEL, PLAIN + "# a remark\n")
    same = lab.static("--against", "HEAD", "--json").json["against"]
    assert (same["is_same_program"], same["commit"]) == (True, lab.head())
    lab.told = {PLAIN: {}, "any": {"warps": 8}}
    changed = lab.static("--against", "HEAD", "--json").json["against"]
    assert changed["is_same_program"] is False
    assert changed["launches"][0]["ctas_per_sm"] == {"before": 3, "after": 2}
    assert "another program" in lab.static("--against", "HEAD").out


def test_a_commit_without_facts_is_a_note(lab):
    failure = {"kind": "raised", "detail": "ValueError: no", "log": ""}
    lab.told = {PLAIN: {"failure": failure}}
    lab.write(KERNEL, PLAIN + "# mended\n")
    answer = lab.static("--against", "HEAD", "--json").json
    assert answer["against"] is None
    assert ["has no facts to compare: ValueError: no" in note for note in answer["notes"]] == [True]


def test_a_commit_that_there_is_not_is_wrong_use(lab):
    said = lab.static("--against", "nowhere")
    assert (said.code, "there is no such commit" in said.err) == (2, True)


@pytest.mark.parametrize(
    ("kind", "detail", "sentence"),
    [
        (
            "unsupported",
            "NotImplementedError: head_dim 96",
            "does not take this shape: NotImplementedError: head_dim 96",
        ),
        ("refused", "triton.autotune: it would time", "has no facts without a device: triton.autotune"),
        ("resources", "OutOfResources: shared memory", "does not fit sm_110a: OutOfResources"),
        ("compiler", "CompilationError: no (kernel line 9)", "does not compile for sm_110a: CompilationError: no"),
        ("raised", "ValueError: \x1b[31mred", "fails before its launches: ValueError: red"),
    ],
)
def test_a_kernel_without_facts_is_exit_1_with_the_reason(lab, kind, detail, sentence):
    lab.told = {"any": {"failure": {"kind": kind, "detail": detail, "log": "the whole text"}}}
    said = lab.static()
    assert said.code == 1
    assert f"error: the kernel {sentence}" in said.err
    answer = lab.static("--json").json
    assert (answer["compiles"], answer["launches"], answer["error"]["code"]) == (False, [], "crash")
    assert answer["failure"]["log"] == "the whole text"


def test_the_assembler_s_complaint_is_exit_1_in_its_own_words(lab):
    lab.told = {"any": {"ptx": "error Instruction 'redux.f32' not supported on .target 'sm_110a'"}}
    said = lab.static()
    assert said.code == 1
    assert "does not compile for sm_110a: ptxas-blackwell: line 24; error : Instruction 'redux.f32'" in said.err


def test_bytes_that_cannot_be_counted_leave_the_other_facts(lab):
    lab.told = {"any": {"uncounted": "the worker left before its answer (signal 11)"}}
    answer = lab.static("--json").json
    assert answer["launches"][0]["bytes_ratio"] is None
    assert answer["notes"] == ["bytes of K and V not counted: the worker left before its answer (signal 11)"]


def test_what_was_counted_once_is_remembered(lab):
    first = lab.static("--json").json
    lab.told = {"any": {"uncounted": "it was asked again"}}
    assert lab.static("--json").json == first


def test_an_architecture_that_nobody_knows_is_wrong_use(lab):
    said = lab.static("--arch", "sm_999a")
    assert said.code == 2
    assert "does not know it; it knows sm_75, sm_90a" in said.err


@pytest.mark.parametrize("absent", ["torch", "triton"])
def test_without_torch_or_triton_the_extra_is_named(lab, monkeypatch, absent):
    from mjolnir.targets import static_tools

    monkeypatch.setattr(static_facts, "find_tools", static_tools.find_tools)
    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *a: None if name == absent else real(name, *a))
    said = lab.static()
    assert said.code == 2
    assert absent in said.err.splitlines()[0]
    assert said.err.splitlines()[1] == "hint: pip install 'mjolnir-autoresearch[gpu]'"


def test_a_kernel_that_imports_what_it_may_not_is_refused_before_it_runs(lab):
    lab.write(KERNEL, "import os\n" + PLAIN)
    said = lab.static("--json")
    assert (said.code, said.json["error"]["code"]) == (4, "E_IMPORT")


def test_a_repository_without_a_gpu_kernel_is_told_which_file_is_missing(lab):
    (lab.root / KERNEL).unlink()
    said = lab.static()
    assert said.code == 4
    assert KERNEL in said.err


def test_the_documented_keys_of_a_launch_are_the_answered_ones(lab):
    from docs.generator import GENERATOR

    documented = json.loads(GENERATOR.ANSWERS["mjolnir verify static"].json)
    answer = lab.static("--against", "HEAD", "--json").json
    assert answer.keys() == documented.keys()
    assert answer["launches"][0].keys() == documented["launches"][0].keys()
    assert answer["against"].keys() == documented["against"].keys()
