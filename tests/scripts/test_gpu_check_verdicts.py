"""scripts/gpu_check.py without a GPU: an honest kernel passes, broken ones do not, and its parts keep their order."""

import json
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch", reason="the check's arrays are torch tensors (extra: gpu)")
sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))

import gpu_check  # noqa: E402
import gpu_check_cases as cases  # noqa: E402
import gpu_check_inputs as drawn  # noqa: E402
import gpu_check_parts as parts  # noqa: E402

from mjolnir.core.cases import FAMILIES, Case  # noqa: E402
from mjolnir.core.workload import PagedDecode  # noqa: E402

CPU = torch.device("cpu")
TINY = PagedDecode(num_q_heads=4, num_kv_heads=2, head_dim=16, page_size=4, batch=3)


def attend(q, kv_cache, page_table, seq_lens, *, sm_scale, q_scale=1.0, k_scale=1.0, v_scale=1.0, out, lse=None):
    """An honest kernel: float32, a row at a time, K and V cut off before their poison."""
    bits, (_, _, num_kv_heads, page_size, head_dim) = drawn.bits_of(kv_cache), kv_cache.shape
    for row, length in enumerate(seq_lens.tolist()):
        ids = page_table[row, : -(-length // page_size)].long()
        k, v = (
            bits[ids, half].view(kv_cache.dtype).float().transpose(0, 1).reshape(num_kv_heads, -1, head_dim)[:, :length]
            for half in (0, 1)
        )
        logits = q[row].float().view(num_kv_heads, -1, head_dim) @ k.transpose(1, 2) * (sm_scale * q_scale * k_scale)
        out[row] = (logits.softmax(-1) @ v * v_scale).view(-1, head_dim)
        if lse is not None:
            lse[row] = logits.logsumexp(-1).flatten()


def zeros(*_, out, lse=None, **__):
    out.zero_()


def last_token_dropped(q, kv_cache, page_table, seq_lens, **more):
    attend(q, kv_cache, page_table, (seq_lens - 1).clamp(min=1), **more)


def v_scale_ignored(*arrays, v_scale, **more):
    attend(*arrays, **more)


def v_scale_off_by_two_percent(*arrays, v_scale, **more):
    attend(*arrays, v_scale=1.02 * v_scale, **more)


def kv_heads_swapped(q, kv_cache, *arrays, **more):
    attend(q, drawn.bits_of(kv_cache).flip(2).view(kv_cache.dtype), *arrays, **more)


def first_answer_kept(*arrays, out, lse=None, kept=[], **more):  # noqa: B006
    if not kept or kept[0].shape != out.shape:
        attend(*arrays, out=out, **more)
        kept[:] = [out.clone()]
    out.copy_(kept[0])


def added_to_out(*arrays, out, **more):
    answer = torch.empty_like(out)
    attend(*arrays, out=answer, **more)
    out.copy_(answer + out.nan_to_num())


def one_row_not_written(*arrays, out, **more):
    answer = torch.empty_like(out)
    attend(*arrays, out=answer, **more)
    out[:-1] = answer[:-1]


def input_written(q, *arrays, **more):
    attend(q, *arrays, **more)
    q.neg_()


def lse_in_base_two(*arrays, lse=None, **more):
    attend(*arrays, lse=lse, **more)
    if lse is not None:
        lse /= 0.6931


def raises(*_, **__):
    raise RuntimeError("out of resources:\n  shared memory")


BROKEN = [
    zeros,
    last_token_dropped,
    v_scale_ignored,
    v_scale_off_by_two_percent,
    kv_heads_swapped,
    first_answer_kept,
    added_to_out,
    one_row_not_written,
    input_written,
    lse_in_base_two,
    raises,
]


def tiny_plan():
    """Every family at tiny shapes, once with scales and twice called."""
    for family in FAMILIES:
        case = Case(family=family, lengths_tokens=(1, 4, 23), workload=TINY, table_pages=8, spare_pages=2)
        yield cases.Planned(group="tiny", case=case)
        scaled = replace(case, scales=cases.Scales(q=0.37, v=1.9), double_call=True, lengths_tokens=(5, 30, 9))
        yield cases.Planned(group="tiny", case=scaled)


def run_tiny(kernel):
    return [cases.run_case(planned, kernel, 4, CPU) for planned in tiny_plan()]


def test_an_honest_kernel_passes_every_family_and_call():
    results = run_tiny(attend)
    assert [r.detail for r in results] == [""] * len(results)
    assert all(r.passed and not r.unsupported and 0 < r.error < r.limit / 2 and r.lse_error < 1e-4 for r in results)
    assert {r.calls for r in results} == {2, 3}


@pytest.mark.parametrize("kernel", BROKEN, ids=lambda kernel: kernel.__name__)
def test_a_broken_kernel_fails_with_a_reason(kernel):
    wrong = [r for r in run_tiny(kernel) if not r.passed]
    assert wrong
    assert all(r.detail for r in wrong)


def test_a_shape_that_is_refused_is_unsupported_and_fails_only_where_it_is_required():
    def refuses(*_, **__):
        raise NotImplementedError("head_dim 16: 128 and 256 are supported")

    planned = next(tiny_plan())
    required = cases.run_case(planned, refuses, 4, CPU)
    optional = cases.run_case(replace(planned, case=replace(planned.case, required=False)), refuses, 4, CPU)
    assert (required.passed, required.unsupported) == (False, True)
    assert (optional.passed, optional.unsupported) == (True, True)
    assert "head_dim 16" in required.detail


def test_the_inputs_of_a_case_depend_on_its_name_and_the_seed_alone():
    first, second = [r.error for r in run_tiny(attend)], [r.error for r in run_tiny(attend)]
    assert first == second
    assert first[1] == cases.run_case(list(tiny_plan())[1], attend, 4, CPU).error
    assert first[1] != cases.run_case(list(tiny_plan())[1], attend, 5, CPU).error


@pytest.fixture
def run(monkeypatch, tmp_path):
    """The script in this process with a kernel of the test and without Triton: exit code and document."""

    def call(*words, kernel):
        monkeypatch.setattr(gpu_check, "_libraries", lambda _: (torch, SimpleNamespace(__version__="none")))
        monkeypatch.setattr(gpu_check, "_load_kernel", lambda: (kernel, ""))
        out = tmp_path / "check.json"
        code = gpu_check.main(["--device", "cpu-interpreter", "--out", str(out), "--seed", "11", *words])
        return code, json.loads(out.read_text()) if out.exists() else None

    return call


SOME = (
    "--match",
    "sweep: q bf16 kv fp8_e4m3 d256 page 128 24/4: needle ragged",
    "--match",
    "q bf16 kv bf16 d128 page 16",
)


def test_a_right_kernel_ends_with_0_and_says_that_nothing_was_timed(run):
    code, document = run(*SOME, kernel=attend)
    assert (code, document["ok"], document["complete"]) == (0, True, False)
    assert len(document["cases"]) > 5
    assert {case["family"] for case in document["cases"]} == set(FAMILIES)
    assert document["skipped"] == [{"part": "timing", "why": "an interpreter is no clock"}]
    assert document["seed"] == 11


def test_a_wrong_kernel_ends_with_1_and_the_case_is_on_stderr(run, capsys):
    code, document = run(*SOME, "--only", "correctness", kernel=zeros)
    assert (code, document["ok"], document["complete"]) == (1, False, True)
    assert not any(case["passed"] for case in document["cases"])
    assert "WRONG sweep: q bf16" in capsys.readouterr().err


def test_cases_for_which_no_time_is_left_are_named_each(run):
    code, document = run(*SOME, "--minutes", "0.01", "--only", "correctness", kernel=attend)
    assert code == 0
    assert (document["complete"], document["cases"]) == (False, [])
    planned = cases.plan(gpu_check.INTERPRETED_TOKENS, 11, [word for word in SOME if word != "--match"])
    assert document["skipped_cases"] == [p.name for p in planned]
    assert document["skipped"][0]["why"] == "no time left in the budget"


def test_a_cache_for_a_device_is_left_out_by_name_on_a_cpu(run):
    large = [p.name for p in cases.plan((128,), 11, ["edge: q bf16"]) if p.cache_bytes > parts.LARGE_BYTES]
    assert len(large) == 2
    code, document = run("--match", large[0], "--match", large[1], "--only", "correctness", kernel=attend)
    assert (code, document["complete"], document["cases"]) == (0, False, [])
    assert document["skipped_cases"] == large
    assert document["skipped"][0]["why"] == "only a device has the memory for it"


def test_a_name_that_no_case_holds_is_two_lines_and_2(run, capsys):
    code, document = run("--match", "nothing of the kind", kernel=attend)
    assert (code, document) == (2, None)
    assert [line.split(":")[0] for line in capsys.readouterr().err.splitlines()] == ["error", "hint"]


def test_a_place_that_cannot_be_written_is_two_lines_and_2(run, capsys, tmp_path):
    code, _ = run("--out", str(tmp_path / "no" / "folder.json"), kernel=attend)
    assert code == 2
    assert [line.split(":")[0] for line in capsys.readouterr().err.splitlines()] == ["error", "hint"]
