"""Each broken variant of the Triton kernel fails the check of `verify correctness`, and the ones that are right pass.

The whole table runs without confined workers (kernel_runs.py); a part of it goes through the target too.
"""

from __future__ import annotations

import ast
import os
import secrets

import pytest
from interpreted import Died
from mutant import FAR_PAGES, FRESH_MEMORY, KERNEL, LSE, SINK
from mutants import MUTANTS, RIGHT

from mjolnir.config import parse_config
from mjolnir.targets.protocol import CheckRequest, KernelSource, TargetRequest, load_target

SMALL = {"num_q_heads": 10, "num_kv_heads": 2, "head_dim": 128}
QUICK = (
    "zeros",
    "half the KV",
    "stale page table",
    "last token dropped",
    "swapped KV head",
    "int32 page offsets",
    "unmasked V tail",
    "empty split weighs",
    "finite sentinel",
    "unscaled fp8 P",
    "merge in base e",
    "LSE in base 2",
)
"""What runs on every test run; the whole table is slow."""
BY_NAME = {m.name: m for m in MUTANTS}
EACH = [(m, q) for m in MUTANTS for q in m.q]
SEEDS = (1, 2, 3) if os.environ.get("MJOLNIR_PROVE") else (1,)
IN_TARGET = [(BY_NAME[n], q) for n in QUICK for q in BY_NAME[n].q]


def label(value):
    return value if isinstance(value, str) else value.name


def found_wrong(interpreted, mutant, q_dtype, seed, **values):
    """What the check says of a mutant. One that reads or writes where it must not may end its process."""
    try:
        return interpreted("kernel_runs:check", text=mutant.text(), q_dtype=q_dtype, seed=seed, **values)
    except Died as e:
        return [("", 0, str(e))]


def test_every_mutant_still_fits_the_shipped_kernel():
    for mutant in (*MUTANTS, *RIGHT):
        ast.parse(mutant.text())


def test_the_table_is_long_and_each_of_its_mutants_is_another():
    assert len(BY_NAME) == len(MUTANTS) >= 50
    assert len({m.text() for m in MUTANTS}) == len(MUTANTS)
    assert all(name in BY_NAME for name in QUICK)


@pytest.mark.parametrize(("mutant", "q_dtype"), [(BY_NAME[n], q) for n in QUICK for q in BY_NAME[n].q], ids=label)
def test_a_broken_kernel_fails(mutant, q_dtype, interpreted):
    only = mutant.only_by if mutant.only_by in (FAR_PAGES, SINK) else ""
    assert found_wrong(interpreted, mutant, q_dtype, seed=1, shape=SMALL, only=only)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("mutant", "q_dtype"), EACH, ids=label)
def test_every_broken_kernel_fails_at_the_configured_shape(mutant, q_dtype, seed, interpreted):
    assert found_wrong(interpreted, mutant, q_dtype, seed=seed)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mutant", "q_dtype"), [(m, q) for m, q in EACH if m.only_by not in ("", FRESH_MEMORY)], ids=label
)
def test_the_part_of_the_check_that_alone_sees_a_mutant_is_needed(mutant, q_dtype, interpreted):
    assert found_wrong(interpreted, mutant, q_dtype, seed=1, shape=SMALL)
    assert found_wrong(interpreted, mutant, q_dtype, seed=1, shape=SMALL, without=mutant.only_by) == []


@pytest.mark.slow
@pytest.mark.parametrize("q_dtype", ["bf16", "fp8_e4m3"])
@pytest.mark.parametrize("mutant", RIGHT, ids=label)
def test_another_way_to_the_right_answer_passes(mutant, q_dtype, interpreted):
    seed = secrets.randbelow(1 << 32)
    assert (seed, found_wrong(interpreted, mutant, q_dtype, seed=seed, shape=SMALL, without=LSE)) == (seed, [])


@pytest.mark.slow
@pytest.mark.parametrize(("mutant", "q_dtype"), IN_TARGET, ids=label)
def test_the_target_itself_says_the_same_of_a_broken_kernel(mutant, q_dtype):
    target = load_target("interpreter", parse_config('[run]\ntarget = "thor"\n'))
    request = TargetRequest(seed=1, check=CheckRequest(q_dtypes=(q_dtype,)), time_limit_s=300)
    source = KernelSource(blob=mutant.text().encode(), name=KERNEL.name, origin="test")
    assert target.visit(source, request, lambda progress: None).outcome is not None
