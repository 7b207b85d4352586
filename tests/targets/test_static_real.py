"""The shipped Triton kernel and broken variants of it through the real workers, compiler and interpreter."""

from __future__ import annotations

import importlib.metadata
import importlib.util
from dataclasses import replace
from pathlib import Path

import pytest

from mjolnir.core.static_facts import StaticFailure, StaticReport, is_same_program
from mjolnir.core.static_report import main_launches, worst_ratio
from mjolnir.core.workload import PagedDecode
from mjolnir.targets.protocol import KernelSource
from mjolnir.targets.static_facts import StaticRequest, static_facts

HAS_TRITON = importlib.util.find_spec("torch") is not None and importlib.util.find_spec("triton") is not None
pytestmark = [pytest.mark.slow, pytest.mark.skipif(not HAS_TRITON, reason="torch and triton are not installed")]
HAS_SM_110 = HAS_TRITON and tuple(map(int, importlib.metadata.version("triton").split(".")[:2])) >= (3, 7)
needs_sm_110 = pytest.mark.skipif(not HAS_SM_110, reason="this triton's assembler knows no sm_110a")

KERNEL = (Path(__file__).parents[2] / "src" / "mjolnir_kernel" / "t5_decode.py").read_text()
ALL_LENGTHS = (128, 4096, 8192, 16384, 32768, 65536, 131072, 262144)
ARCH = "sm_110a" if HAS_SM_110 else "sm_90a"


def facts(text=KERNEL, **changes):
    values = {"arch": ARCH, "workload": PagedDecode(), "lengths": (128,), "q_dtypes": ("bf16",), **changes}
    source = KernelSource(blob=text.encode(), name="kernel.py", origin="work tree")
    return static_facts(source, StaticRequest(**values), lambda step: None)


def failure(old, new, **changes):
    """Why the kernel with `old` replaced by `new` has no facts."""
    assert old in KERNEL
    found = facts(KERNEL.replace(old, new), **changes)
    assert isinstance(found, StaticFailure), found
    return found


@pytest.fixture(scope="module")
def full(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        found = facts(lengths=ALL_LENGTHS, q_dtypes=("bf16", "fp8_e4m3"))
    assert isinstance(found, StaticReport), found
    return found


@needs_sm_110
def test_nothing_spills(full):
    assert {f.launch.kernel: f.launch.code.spills for f in full.launches} == {"attend": 0, "merge": 0}
    assert all(f.launch.code.spill_bytes == 0 for f in full.launches)


@needs_sm_110
@pytest.mark.parametrize(("q_dtype", "most"), [("bf16", 64.0), ("fp8_e4m3", 33.0)])
def test_a_kv_row_costs_no_more_warp_instructions_than_promised(full, q_dtype, most):
    rows = [f.instructions_per_kv_row for f in main_launches(full) if f.q_dtype == q_dtype]
    assert rows
    assert all(row is not None and 10 < row <= most for row in rows)


@needs_sm_110
def test_fp8_reaches_the_tensor_cores_as_fp8(full):
    for one in main_launches(full):
        assert set(one.launch.code.mma) == ({"UTCQMMA"} if one.q_dtype == "fp8_e4m3" else {"HMMA"})


def test_k_and_v_are_read_once(full):
    for call in full.calls:
        if call.length >= 4096:
            assert sum(t.kv_bytes for t in call.traffic) / full.workload.kv_bytes(call.length) <= 1.02
    assert worst_ratio(full) >= 0.99
    assert not full.notes


def test_the_grid_is_one_wave_of_two_programs_an_sm(full):
    longest = [f for f in main_launches(full) if full.lengths[-1] in f.lengths]
    programs = 2 * full.arch.sm_count
    assert all(f.launch.grid == (4, programs // 4, 1) for f in longest)


def test_it_compiles_for_sm_90a():
    assert isinstance(facts(arch="sm_90a", q_dtypes=("bf16", "fp8_e4m3")), StaticReport)


def test_comments_names_and_a_product_with_one_make_no_other_program():
    edited = KERNEL.replace("new_largest", "next_largest").replace("acc *= ", "# a remark\n    acc *= 1.0 * ")
    assert edited != KERNEL
    assert is_same_program(facts(), facts(edited))


def test_another_tile_makes_another_program():
    assert not is_same_program(facts(), facts(KERNEL.replace("TILE_TOKENS = 64", "TILE_TOKENS = 32")))


def test_torch_cuda_in_host_code_is_told_what_to_use_instead():
    found = failure("triton.runtime.driver.active.get_current_device()", "torch.cuda.current_device()")
    assert found.kind == "refused"
    assert found.detail.startswith("L=128, q bf16: torch.cuda.current_device in host code")
    assert "q.device" in found.detail
    assert "(kernel line " in found.detail


def test_an_autotuned_kernel_is_refused_with_the_reason():
    decorated = "@triton.autotune(configs=[triton.Config({}, num_warps=4)], key=[])\n@triton.jit\ndef attend("
    found = failure("@triton.jit\ndef attend(", decorated)
    assert found.kind == "refused"
    assert "triton.autotune: it would time a launcher that does nothing" in found.detail


def test_a_shape_that_the_kernel_does_not_take_is_named():
    found = facts(workload=PagedDecode(head_dim=96))
    assert (found.kind, "head_dim 96" in found.detail) == ("unsupported", True)


def test_a_dtype_beside_the_workload_s_may_be_unsupported():
    only_bf16 = KERNEL.replace(
        "    check_supported(q, kv_cache, page_table, seq_lens, out, lse)\n",
        '    if q.dtype != torch.bfloat16:\n        raise NotImplementedError("fp8 q")\n',
    )
    found = facts(only_bf16, q_dtypes=("bf16", "fp8_e4m3"))
    assert isinstance(found, StaticReport)
    assert found.q_dtypes == ("bf16",)
    assert any("fp8 q" in note for note in found.notes)


def test_more_shared_memory_than_there_is_is_told_in_triton_s_words():
    found = failure("num_stages=stages", "num_stages=9", lengths=(4096,))
    assert found.kind == "resources"
    assert "out of resource: shared memory, Required: " in found.detail


def test_a_compile_error_names_its_line_and_reason():
    found = failure("    page = tl.load(table + first_page)\n", "    page = tl.load(tabel + first_page)\n")
    line = KERNEL[: KERNEL.index("    page = tl.load(table + first_page)")].count("\n") + 1
    assert found.kind == "compiler"
    assert "tabel is not defined" in found.detail
    assert found.detail.endswith(f"(kernel line {line})")


ASM = 'tl.inline_asm_elementwise("{}", "=f,f", [{}], dtype=tl.float32, is_pure=True, pack=1)'


def with_assembly(instruction):
    return "    largest = tl.max(lse_2, 0)\n", f"    largest = {ASM.format(instruction, 'tl.max(lse_2, 0)')}\n"


def test_an_instruction_that_the_device_lacks_is_told_in_the_assembler_s_words():
    found = failure(*with_assembly("bogus.f32 $0, $1;"))
    assert found.kind == "compiler"
    assert found.detail.startswith("ptxas")
    assert "bogus" in found.detail


def test_inline_assembly_has_facts_but_no_count_of_bytes():
    found = facts(KERNEL.replace(*with_assembly("mov.f32 $0, $1;")))
    assert isinstance(found, StaticReport)
    assert worst_ratio(found) is None
    assert any("inline_asm not supported in interpreter" in note for note in found.notes)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("    pass\n", "launches no Triton kernel"),
        ("    raise ValueError('\\x1b[31m' + 'x' * 99999)\n", "ValueError"),
        ("    while True: pass\n", "no answer within the time limit"),
        ("    os._exit(3)\n", "left before its answer"),
        ("    [os.write(fd, b'{}' * 99) for fd in range(3, 900) if open_fd(fd)]\n    os._exit(0)\n", "announced"),
        ("    os.fork()\n", "Operation not permitted"),
        ("    open('/etc/passwd').read()\n", "Permission"),
    ],
    ids=["no launch", "raises", "never returns", "exits", "writes elsewhere", "forks", "reads a file"],
)
def test_host_code_may_do_what_it_likes_and_is_told_as_it_is(body, words):
    head = "import torch, triton\nos = __import__('os')\n"
    head += "def open_fd(fd):\n    try:\n        os.fstat(fd)\n    except OSError:\n        return False\n"
    head += "    return True\n"
    found = facts(f"{head}def decode(*args, **kwargs):\n{body}", time_limit_s=15.0)
    assert isinstance(found, StaticFailure)
    assert words in found.detail
    assert len(found.detail) < 700


def test_an_untested_interpreter_counts_nothing_and_says_so(monkeypatch):
    from mjolnir.targets import static_traffic

    monkeypatch.setattr(static_traffic, "TRIED_VERSIONS", ("1.0.0",))
    found = facts()
    assert worst_ratio(found) is None
    assert any("interpreter of triton" in note and "1.0.0" in note for note in found.notes)


def test_a_loop_that_is_unrolled_costs_a_row_what_it_did():
    plain = facts(lengths=(4096,))
    unrolled = facts(
        KERNEL.replace("tl.range(0, full_tiles)", "tl.range(0, full_tiles, loop_unroll_factor=2)"), lengths=(4096,)
    )
    (a,), (b,) = main_launches(plain), main_launches(unrolled)
    assert b.rows_per_iteration == 2 * a.rows_per_iteration
    assert b.instructions_per_kv_row == pytest.approx(a.instructions_per_kv_row, rel=0.2)


def test_rows_are_known_with_pages_smaller_than_a_tile():
    found = facts(workload=replace(PagedDecode(), page_size=16), lengths=(4096,))
    assert [f.rows_per_iteration for f in main_launches(found)] == [16]
