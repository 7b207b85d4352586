"""scripts/gpu_check.py without a GPU: its inputs, oracle and comparison against the tool's, and its plan."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the check's arrays are torch tensors (extra: gpu)")
ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import gpu_check  # noqa: E402
import gpu_check_cases as cases  # noqa: E402
import gpu_check_inputs as drawn  # noqa: E402
import gpu_check_oracle as on_device  # noqa: E402

from mjolnir.core.cases import FAMILIES, Case, Padding, Scales  # noqa: E402
from mjolnir.core.workload import PagedDecode  # noqa: E402
from mjolnir.oracle import attention, check, codes, inputs  # noqa: E402

CPU = torch.device("cpu")
TINY = PagedDecode(num_q_heads=4, num_kv_heads=2, head_dim=16, page_size=4, batch=3)


def tiny_case(family="gauss", lengths=(1, 4, 23), **changes):
    shape = {name: changes.pop(name) for name in ("q_dtype", "kv_dtype") if name in changes}
    workload = replace(TINY, batch=len(lengths), **shape)
    return Case(family=family, lengths_tokens=lengths, workload=workload, table_pages=8, spare_pages=2, **changes)


def as_numpy(tensor, name):
    return drawn.bits_of(tensor.contiguous()).numpy().view(codes.DTYPES[name])


def for_the_tool(mine, case):
    """The same inputs as the tool's oracle takes them."""
    w = case.workload
    return inputs.Inputs(
        q=as_numpy(mine.q, w.q_dtype),
        kv_cache=as_numpy(mine.kv_cache, w.kv_dtype),
        page_table=mine.page_table.numpy(),
        seq_lens=mine.seq_lens.numpy(),
        sm_scale=mine.sm_scale,
        q_scale=mine.q_scale,
        k_scale=mine.k_scale,
        v_scale=mine.v_scale,
    )


@pytest.mark.parametrize("name", ["K_HALF", "V_HALF", "V_MEAN", "NEEDLE_LOGIT", "NEEDLE_SPIKE", "LOGIT_DEVIATION"])
def test_the_families_have_the_constants_of_the_tools_oracle(name):
    assert getattr(drawn, name) == getattr(inputs, name)


def test_poison_filling_and_the_limit_of_the_lse_are_those_of_the_tools_oracle():
    assert (drawn.NAN_BITS, drawn.LARGEST) == (codes.NAN_BITS, codes.LARGEST)
    assert (on_device.OUT_FILL_BITS, on_device.LSE_LIMIT) == (check.OUT_FILL_BITS, check.LOG_SUM_LIMIT)


@pytest.mark.parametrize("q_dtype", ["bf16", "fp8_e4m3"])
@pytest.mark.parametrize("kv_dtype", ["bf16", "fp8_e4m3"])
@pytest.mark.parametrize("family", FAMILIES)
def test_the_answer_is_that_of_the_tools_oracle(family, q_dtype, kv_dtype):
    case = tiny_case(family, q_dtype=q_dtype, kv_dtype=kv_dtype, scales=Scales(q=0.37, k=1.9, v=1.9), sm_factor=0.7)
    mine = drawn.make_inputs(case, np.random.default_rng(5), CPU)
    exact, expected = on_device.attend(mine), attention.attend(for_the_tool(mine, case))
    np.testing.assert_allclose(exact.output, expected.output, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(exact.log_sum, expected.log_sum, rtol=1e-9, atol=1e-12)
    for ours, theirs in zip(exact.page_shares, expected.page_shares, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("family", ["gauss", "needle"])
def test_an_answer_in_many_chunks_is_the_same(family, monkeypatch):
    mine = drawn.make_inputs(tiny_case(family), np.random.default_rng(6), CPU)
    whole = on_device.attend(mine)
    monkeypatch.setattr(on_device, "_CHUNK_TOKENS", {"cpu": 8})
    np.testing.assert_allclose(on_device.attend(mine).output, whole.output, rtol=1e-12)


@pytest.mark.parametrize("spoil", ["nothing", "a little", "too much", "nan", "unwritten", "one element"])
@pytest.mark.parametrize("family", ["gauss", "hist"])
def test_an_output_is_judged_as_the_tool_judges_it(family, spoil):
    case = tiny_case(family, (17, 30, 2))
    exact = on_device.attend(drawn.make_inputs(case, np.random.default_rng(7), CPU))
    out = exact.output.to(torch.bfloat16)
    if spoil in ("a little", "too much"):
        out[1, 2] = (exact.output[1, 2] * (1.005 if spoil == "a little" else 1.05)).to(torch.bfloat16)
    elif spoil == "nan":
        out[0, 1, 3] = float("nan")
    elif spoil == "unwritten":
        drawn.bits_of(out)[2, 0, 5] = on_device.OUT_FILL_BITS
    elif spoil == "one element":
        at = exact.output[1, 0].argmax()
        out[1, 0, at] = (exact.output[1, 0, at] * 0.97).to(torch.bfloat16)
    mine = on_device.compare(out, exact.output, case)
    theirs = check.check_output(drawn.bits_of(out).numpy().view(np.uint16), exact.output.numpy(), case)
    assert mine.passed == theirs.passed
    assert mine.error == (None if theirs.error is None else pytest.approx(theirs.error, rel=1e-9))
    assert bool(mine.detail) == bool(theirs.detail)


@pytest.mark.parametrize("padding", Padding)
@pytest.mark.parametrize("is_strided", [False, True])
def test_all_that_no_row_uses_is_nan(padding, is_strided):
    case = tiny_case("needle", padding=padding)
    mine = drawn.make_inputs(case, np.random.default_rng(8), CPU, is_strided=is_strided)
    assert mine.kv_cache.is_contiguous() != is_strided
    values = mine.kv_cache.float()
    used = torch.zeros(values.shape[0], values.shape[3], dtype=torch.bool)
    for pages, length in zip(mine.row_pages, case.lengths_tokens, strict=True):
        for token in range(length):
            used[pages[token // 4], token % 4] = True
    is_nan = values.isnan().permute(0, 3, 1, 2, 4).flatten(2)
    assert is_nan[~used].all()
    assert not is_nan[used].any()
    assert not used[-1].any()


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("seed", range(5))
def test_a_changed_page_moves_some_heads_answer_far_beyond_every_limit(family, seed):
    case, rng = tiny_case(family, (30, 11, 2), scales=Scales(k=0.37, v=1.9)), np.random.default_rng(seed)
    mine = drawn.make_inputs(case, rng, CPU)
    before = on_device.attend(mine)
    drawn.change_page(mine, before.output, before.page_shares, case, rng)
    after = on_device.attend(mine)
    moved = (after.output - before.output).norm(dim=-1) / before.output.norm(dim=-1)
    assert moved.max() > 0.2
    np.testing.assert_allclose(after.log_sum, before.log_sum, rtol=1e-12)


def test_the_plan_has_every_family_at_every_length_shape_and_dtype_that_the_contract_names():
    planned = cases.plan(gpu_check.SWEEP_TOKENS, seed=3)
    assert len({p.name for p in planned}) == len(planned)
    of = [(p, p.case, p.case.workload) for p in planned]
    for q_dtype in ("bf16", "fp8_e4m3"):
        mine = [(p, c, w) for p, c, w in of if w.q_dtype == q_dtype]
        assert {c.family for _, c, _ in mine} == set(FAMILIES)
        shapes = {(w.head_dim, w.page_size) for _, c, w in mine if c.required}
        assert shapes >= {(d, page) for d in (128, 256) for page in (16, 32, 64, 128)}
        for length in gpu_check.SWEEP_TOKENS:
            families = {c.family for _, c, w in mine if c.lengths_tokens == (length,) and w.page_size == 128}
            assert families >= {"needle", "hist"}
        assert {w.group for _, _, w in mine} >= {1, 5, 6, 7, 16}
        assert {w.kv_dtype for _, _, w in mine} == {"bf16", "fp8_e4m3"}
        assert {c.padding for _, c, _ in mine} == set(Padding)
        assert any(c.scales != Scales() for _, c, _ in mine)
        assert any(c.double_call for _, c, _ in mine)
        assert any(p.is_strided for p, _, _ in mine)
        assert all(c.is_permuted for _, c, _ in mine)
        assert sum(c.changed_calls for _, c, _ in mine) >= sum(c.num_calls for _, c, _ in mine) / 3
        far = [p for p, _, w in mine if p.cache_bytes > 2**32]
        assert {p.case.workload.page_size for p in far} == {128, 32}


def test_match_keeps_the_cases_that_hold_one_of_the_texts():
    everything = cases.plan((128, 4096), seed=3)
    some = cases.plan((128, 4096), seed=3, match=("Needle L=4K", "strided"))
    assert 0 < len(some) < len(everything)
    assert {p.name for p in some} == {p.name for p in everything if "needle L=4K" in p.name or "strided" in p.name}


def test_nothing_but_torch_and_numpy_is_needed_and_what_is_missing_is_named():
    missing = ("ml_dtypes", "typer", "rich", "click", "msgspec", "matplotlib", "numba", "flashinfer")
    program = f"""import sys
sys.path[:0] = {[str(ROOT / "scripts"), str(ROOT / "src")]!r}
sys.modules |= dict.fromkeys({missing!r})
import gpu_check_machine, gpu_check_parts
print(gpu_check_parts.__name__, sorted(gpu_check_machine.not_importable()))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout == "gpu_check_parts ['flashinfer', 'mjolnir.cli', 'mjolnir.oracle.inputs']\n", done.stderr
