"""The plan of a correctness check: what is in it, in quick as well, and what it costs."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mjolnir.core.case_plan import plan_cases
from mjolnir.core.cases import FAMILIES, Case, Padding, Scales
from mjolnir.core.workload import PagedDecode

CPU = (128, 1024, 4096, 16384)
GPU = (128, 4096, 8192, 16384, 32768, 65536, 131072, 262144)

workloads = st.builds(
    PagedDecode,
    num_q_heads=st.sampled_from([4, 24]),
    num_kv_heads=st.sampled_from([1, 4]),
    head_dim=st.sampled_from([64, 128, 256]),
    page_size=st.sampled_from([1, 2, 16, 24, 128, 1024]),
    q_dtype=st.sampled_from(["bf16", "fp8_e4m3"]),
    batch=st.integers(1, 3),
)
lengths = st.lists(st.integers(1, 20_000), min_size=1, max_size=8)


CONFIGURED = PagedDecode()


def plan(workload=CONFIGURED, sweep=CPU, *, quick=True, seed=0, **options):
    return plan_cases(workload, sweep, quick=quick, seed=seed, **options)


@given(workload=workloads, sweep=lengths, quick=st.booleans(), seed=st.integers(0, 2**64))
@settings(max_examples=80, deadline=None)
def test_every_plan_has_all_families_paddings_scales_and_pairs(workload, sweep, quick, seed):
    cases = plan(workload, sweep, quick=quick, seed=seed)
    required = [case for case in cases if case.required]
    assert {case.family for case in required} == set(FAMILIES)
    assert {case.padding for case in required} == set(Padding)
    for factor in ("q", "k", "v"):
        assert any(getattr(case.scales, factor) != 1 for case in required)
    assert any(case.scales == Scales() for case in required)
    assert any(case.sm_factor != 1 for case in required)
    assert any(case.double_call for case in required)
    assert 3 * sum(c.changed_calls for c in required) >= sum(c.num_calls for c in required)
    assert len({case.name for case in cases}) == len(cases)
    assert all(case.is_permuted for case in cases)


@given(workload=workloads, sweep=lengths, seed=st.integers(0, 2**64))
@settings(max_examples=80, deadline=None)
def test_edge_lengths_are_met_in_ragged_batches_of_three(workload, sweep, seed):
    ragged = [c for c in plan(workload, sweep, seed=seed) if c.required and len(set(c.lengths_tokens)) > 1]
    assert all(len(case.lengths_tokens) == 3 for case in ragged)
    met = {n for case in ragged for n in case.lengths_tokens}
    page = workload.page_size
    assert {1, 2, page // 8 + 1, page, page + 1} | ({page - 1} - {0}) <= met
    assert len({(c.num_pages, c.table_pages) for c in ragged}) == 1, "one shape of every array"


@given(sweep=lengths, seed=st.integers(0, 2**64))
@settings(max_examples=80, deadline=None)
def test_the_longest_has_needle_and_hist_and_in_full_every_length_has(sweep, seed):
    def met(quick):
        return {
            (c.family, c.lengths_tokens[0])
            for c in plan(sweep=sweep, quick=quick, seed=seed)
            if len(c.lengths_tokens) == 1
        }

    longest = max(sweep)
    assert {("needle", longest), ("hist", longest), ("needle", longest + 1)} <= met(True)
    for length in sweep:
        assert {("needle", length), ("hist", length), ("needle", length + 1)} <= met(False)


def test_quick_on_cpu_meets_every_sweep_length_each_time():
    for seed in range(20):
        met = {(c.family, c.lengths_tokens) for c in plan(seed=seed)}
        assert all((family, (n,)) in met for n in CPU for family in ("needle", "hist"))


def test_lengths_too_long_for_every_evaluation_take_turns():
    met = {(c.family, c.lengths_tokens[0]) for seed in range(60) for c in plan(sweep=GPU, seed=seed)}
    assert {("needle", 131072), ("hist", 131072)} <= met
    assert all(sum(c.lengths_tokens[0] in (131072,) for c in plan(sweep=GPU, seed=seed)) == 1 for seed in range(5))


@pytest.mark.parametrize(("sweep", "most"), [(CPU, 8.0), (CPU[:3], 3.0)])
def test_quick_costs_no_more_calls_than_a_slow_kernel_can_answer(sweep, most):
    costs = [sum(c.work_tokens for c in plan(sweep=sweep, seed=seed)) / 16384 for seed in range(100)]
    assert max(costs) <= most


def test_the_same_seed_gives_the_same_plan_and_another_seed_another():
    assert plan(seed=5) == plan(seed=5)
    assert plan(seed=5) != plan(seed=6)


def test_other_shapes_are_optional_and_say_how_they_differ():
    optional = [case for case in plan(quick=False) if not case.required]
    assert {case.variant for case in optional} == {"page 24", "head_dim 128", "q fp8_e4m3"}
    assert [case.workload.page_size for case in optional if case.variant == "page 24"] == [24]
    assert [case.variant for case in plan() if not case.required] == ["page 24"]
    assert any(c.variant == "page 40" for c in plan(PagedDecode(page_size=24)))


def test_a_dtype_that_was_asked_for_gets_the_whole_plan_and_only_the_configured_one_is_required():
    cases = plan(q_dtypes=("fp8_e4m3", "bf16"))
    fp8 = [case for case in cases if case.workload.q_dtype == "fp8_e4m3"]
    assert {case.family for case in fp8} == set(FAMILIES)
    assert not any(case.required for case in fp8)
    assert all("q fp8_e4m3" in case.name for case in fp8)
    assert any(case.required for case in cases if case.workload.q_dtype == "bf16")


def test_match_keeps_the_cases_whose_name_holds_the_text():
    kept = plan(match="HIST l=4k")
    assert [case.name.split(" pad")[0] for case in kept] == ["hist L=4K"]
    assert plan(match="no such case") == ()


def test_a_name_says_what_the_case_is():
    case = Case(
        family="gauss",
        lengths_tokens=(1, 17, 129),
        workload=PagedDecode(batch=3),
        scales=Scales(q=0.37, k=1.9),
        table_pages=3,
    )
    assert case.name == "gauss ragged 1,17,129 scales .37/1.9/1 pad -1"
    assert case.limit == 0.01


@pytest.mark.parametrize("sweep", [(), (0,), (-1, 5)])
def test_a_sweep_without_lengths_is_refused(sweep):
    with pytest.raises(ValueError, match="context lengths"):
        plan(sweep=sweep)


def test_an_unknown_dtype_is_refused_by_name():
    with pytest.raises(ValueError, match="fp4"):
        plan(q_dtypes=("fp4",))


@pytest.mark.parametrize(
    "changes",
    [{"family": "flat"}, {"lengths_tokens": (0,)}, {"lengths_tokens": (1, 2)}, {"spare_pages": 0}, {"table_pages": 1}],
    ids=str,
)
def test_an_impossible_case_cannot_be_made(changes):
    values = {"family": "gauss", "lengths_tokens": (200,), "workload": PagedDecode(), "table_pages": 2} | changes
    with pytest.raises(ValueError):  # noqa: PT011 (the message names the field that is wrong)
        Case(**values)
