"""The target `interpreter`: a Triton kernel checked on this CPU, through the command line and through its seam."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

import mjolnir
from mjolnir.config import parse_config
from mjolnir.core.model import Crashed, Incorrect
from mjolnir.errors import EnvironmentFault
from mjolnir.targets import interpreter as interpreter_module
from mjolnir.targets.interpreter import InterpreterTarget
from mjolnir.targets.protocol import CheckRequest, KernelSource, TargetRequest

KERNEL = "src/mjolnir_kernel/t5_decode.py"
TEXT = (Path(mjolnir.__file__).parents[1] / "mjolnir_kernel/t5_decode.py").read_text(encoding="utf-8")
CONFIG = '[run]\ntarget = "thor"\n'


@pytest.fixture
def lab(tmp_path, monkeypatch):
    """A repository whose run is on thor, with the Triton kernel in its work tree."""
    (tmp_path / KERNEL).parent.mkdir(parents=True)
    (tmp_path / KERNEL).write_text(TEXT, encoding="utf-8")
    (tmp_path / "mjolnir.toml").write_text(CONFIG, encoding="utf-8")
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def replaced(*pairs):
    """The kernel's text with each (old, new) replaced exactly once."""
    text = TEXT
    for old, new in pairs:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


def check(text, match, *, q_dtypes=("bf16",)):
    """What the target says of a kernel's text in the cases that `match`."""
    target = InterpreterTarget(parse_config(CONFIG))
    request = TargetRequest(seed=7, check=CheckRequest(quick=True, q_dtypes=q_dtypes, match=match), time_limit_s=300)
    return target.visit(KernelSource(blob=text.encode(), name=KERNEL, origin="test"), request, lambda progress: None)


def test_the_honest_kernel_passes_and_the_answer_says_what_that_means(lab, mjolnir):
    answer = mjolnir("verify", "correctness", "--target", "interpreter", "--quick", "--match", "L=128 ", "--json")
    said = json.loads(answer.out)
    assert (answer.code, said["passed"]) == (0, True), answer
    assert "necessary, not sufficient" in said["note"]
    assert {case["family"] for case in said["cases"]} == {"needle", "hist"}


def test_people_read_the_caution_too(lab, mjolnir):
    answer = mjolnir("verify", "correctness", "--target", "interpreter", "--quick", "--match", "hist L=128 ")
    assert answer.code == 0, answer
    assert "necessary, not sufficient" in answer.out


def test_a_wrong_kernel_is_a_finding(lab, mjolnir):
    (lab / KERNEL).write_text(
        replaced(("sm_scale * q_scale * k_scale * LOG2_E", "sm_scale * LOG2_E")), encoding="utf-8"
    )
    answer = mjolnir("verify", "correctness", "--target", "interpreter", "--quick", "--match", "gauss ragged", "--json")
    assert (answer.code, json.loads(answer.out)["passed"]) == (1, False), answer


@pytest.mark.slow
def test_every_quick_case_of_both_dtypes_passes():
    report = check(TEXT, "", q_dtypes=())
    assert report.outcome is None, report.outcome
    families = {(case["family"], "fp8" in case["case"]) for case in report.correctness["cases"]}
    assert len(families) == 10, "five families, both dtypes of q"


@pytest.mark.slow
def test_every_case_passes():
    target = InterpreterTarget(parse_config(CONFIG))
    request = TargetRequest(seed=11, check=CheckRequest(quick=False, fail_fast=False), time_limit_s=1800)
    source = KernelSource(blob=TEXT.encode(), name=KERNEL, origin="test")
    assert target.visit(source, request, lambda progress: None).outcome is None


@pytest.mark.parametrize("page", ["far pages", "page 32 far pages"])
def test_a_cache_of_more_than_two_to_the_31_elements_is_addressed_right(page):
    assert check(TEXT, page).outcome is None


def test_a_page_offset_in_32_bits_is_found():
    text = replaced(("page.to(tl.int64) * page_stride + slot", "page * page_stride.to(tl.int32) + slot"))
    assert check(text, "page 32 far pages").outcome is not None


def test_an_lse_in_another_base_is_found():
    outcome = check(replaced(("(largest + tl.log2(total)) * LN_2", "largest + tl.log2(total)")), "gauss ragged").outcome
    assert isinstance(outcome, Incorrect)
    assert "LSE" in outcome.failures[0].detail


def test_a_kernel_without_an_lse_is_not_asked_for_one():
    text = replaced(
        (", out, lse=None):", ", out):"), ("    check_supported(q,", "    lse = None\n    check_supported(q,")
    )
    assert check(text, "hist L=128 ").outcome is None


def test_inline_assembly_is_answered_with_what_the_interpreter_is():
    asm = 'tl.inline_asm_elementwise("mov.b32 $0, $1;", "=r,r", [row], dtype=tl.int32, is_pure=True, pack=1)'
    text = replaced(("    is_head = row < GROUP\n", f"    row = {asm}\n    is_head = row < GROUP\n"))
    outcome = check(text, "hist L=128 ").outcome
    assert isinstance(outcome, Crashed)
    assert "cannot run inline assembly" in outcome.detail


def test_a_shape_that_the_kernel_refuses_is_unsupported_and_no_failure():
    report = check(TEXT, "page 24")
    assert report.outcome is None
    assert [(case["unsupported"], "page_size 24" in case["detail"]) for case in report.correctness["cases"]] == [
        (True, True)
    ]


def test_a_worker_that_dies_is_a_crash_with_the_case_named():
    text = replaced(("    check_supported(q,", "    tl.extra.nothing.here\n    check_supported(q,"))
    outcome = check(text, "hist L=128 ").outcome
    assert isinstance(outcome, Crashed)
    assert "hist L=128" in outcome.detail


@pytest.mark.parametrize(
    ("versions", "words"),
    [
        ({"torch": None, "triton": None}, ("torch and triton not installed", "mjolnir-autoresearch[gpu]")),
        ({"torch": "2.13.0", "triton": None}, ("triton not installed", "mjolnir-autoresearch[gpu]")),
        ({"torch": "2.13.0", "triton": "4.0.0"}, ("never compared", "pip install triton==3.9.0")),
    ],
)
def test_what_is_missing_is_named_with_the_command(versions, words, monkeypatch):
    monkeypatch.setattr(interpreter_module, "tool_version", versions.get)
    with pytest.raises(EnvironmentFault) as raised:
        InterpreterTarget(parse_config(CONFIG)).preflight()
    assert all(word in f"{raised.value.message} {raised.value.hint}" for word in words)


def test_it_is_never_timed(lab, mjolnir):
    answer = mjolnir("verify", "sweep", "--target", "interpreter")
    assert (answer.code, answer.err.count("\n")) == (2, 2), answer
    assert "says nothing about a GPU" in answer.err


def test_no_run_is_measured_on_it(lab, mjolnir):
    subprocess.run(["git", "add", "-A"], check=True)
    subprocess.run(["git", "commit", "-qm", "start"], check=True)
    answer = mjolnir("autoresearch", "init", "t", "--base", "HEAD", "--target", "interpreter")
    assert answer.code == 2, answer
    assert "times nothing" in answer.err
