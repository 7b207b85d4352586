"""Each bad kernel is caught by the quick plan, whatever the seed, and each honest one passes.

Only the folder wrong_answer and two files more run here, in this process: they compute and do nothing else. Faults
and tampering need the real, confined worker (tests/targets).

The first line of a bad kernel says what a harness is to answer. "only caught by" names a part of the plan that alone
finds it: should that part be taken out, this test is the one that notices.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from in_process import Driver, first_failure, load_kernel

from mjolnir.core.case_plan import plan_cases
from mjolnir.core.cases import Padding, Scales
from mjolnir.core.workload import PagedDecode

LENGTHS = (128, 1024, 4096)
SMALL = {"num_q_heads": 8, "num_kv_heads": 2, "head_dim": 64}
FOLDER = Path(__file__).parent.parent / "bad_kernels"
KERNELS = [FOLDER / "honest_plain.py", FOLDER / "last_token_lost.py", *sorted((FOLDER / "wrong_answer").glob("*.py"))]
TIMED_CALLS = 24

PARTS = {
    "large": lambda a: a.case.family == "large",
    "needle": lambda a: a.case.family == "needle",
    "hist": lambda a: a.case.family == "hist",
    "scales": lambda a: a.case.scales != Scales(),
    "sm_scale": lambda a: a.case.sm_factor != 1.0 or a.case.family == "large",  # large: see inputs.make_inputs
    "other padding than -1": lambda a: a.case.padding is not Padding.MINUS_ONE,
    "poison page": lambda a: a.case.padding is Padding.POISON_PAGE,
    "ragged": lambda a: "ragged" in a.case.name,
    "L=4K": lambda a: "L=4K" in a.case.name,
    "L+1": lambda a: "L=4097" in a.case.name,
    "double call": lambda a: a.case.double_call and a.call == 1,
    "changed page": lambda a: a.call > int(a.case.double_call),
}


def note(path, name):
    found = re.search(rf"^# {name}: (.*)$", path.read_text(), re.MULTILINE)
    return found[1] if found else ""


def check_kernel(path, seeds, shape):
    workload = PagedDecode(q_dtype=note(path, "q") or "bf16", **shape)
    only, driver = note(path, "only caught by"), Driver()
    for seed in seeds:
        decode = load_kernel(path)
        answers = list(driver.check(decode, plan_cases(workload, LENGTHS, quick=True, seed=seed), seed))
        failed = [a for a in answers if not a.result.passed]
        told = [f"{a.code} in {a.case.name}, call {a.call}: {a.result.detail}" for a in failed]
        if note(path, "answer") == "keep or discard" or only == "timed calls":
            assert not failed, told
        else:
            assert failed, f"seed {seed} lets it through"
        if only in PARTS and shape == SMALL:
            assert all(PARTS[only](a) for a in failed), told
        if note(path, "answer") == "keep or discard" or only == "timed calls":
            lengths = LENGTHS[:2]
            late = first_failure(a for n in lengths for a in driver.check_timed(decode, workload, n, TIMED_CALLS, seed))
            assert (late is None) == (only != "timed calls"), f"seed {seed}: {late}"


@pytest.mark.parametrize("path", KERNELS, ids=lambda path: path.stem)
def test_a_bad_kernel_is_caught_and_an_honest_one_passes(path):
    check_kernel(path, seeds=[0], shape=SMALL)


@pytest.mark.slow
@pytest.mark.parametrize("path", KERNELS, ids=lambda path: path.stem)
def test_a_bad_kernel_is_caught_in_ten_seeds(path):
    check_kernel(path, seeds=range(100, 110), shape=SMALL)


@pytest.mark.slow
@pytest.mark.parametrize("path", KERNELS, ids=lambda path: path.stem)
def test_a_bad_kernel_is_caught_at_the_configured_shape(path):
    check_kernel(path, seeds=range(10, 13), shape={})


def test_each_trick_of_the_plan_is_some_kernels_only_catcher():
    named = {note(path, "only caught by") for path in KERNELS}
    assert named == {*PARTS, "timed calls", ""}
