"""Reports made by hand: one call of decode is two launches, attend and merge."""

from dataclasses import replace

from mjolnir.core.gpu_arch import ARCHES
from mjolnir.core.static_facts import Argument, Call, Launch, MachineCode, Toolchain, Traffic
from mjolnir.core.static_report import make_report
from mjolnir.core.workload import PagedDecode

WORKLOAD = PagedDecode()
THOR = ARCHES["sm_110a"]
TOOLCHAIN = Toolchain(triton="3.9.0", torch="2.13.0", ptxas="ptxas-blackwell 13.4.59")


def code(**changes):
    plain = MachineCode(
        registers=128,
        stack_bytes=0,
        spills=0,
        spill_bytes=0,
        instructions=2000,
        sass_hash="a" * 64,
        loop_instructions=640,
        mix={"integer": 500, "mma": 64},
        mma={"HMMA": 64},
    )
    return replace(plain, **changes)


def attend(length, *, machine=None, **changes):
    pages = -(-length // 128)
    plain = Launch(
        kernel="attend",
        grid=(4, min(10, pages), 1),
        warps=4,
        stages=3,
        ctas_per_cluster=1,
        shared_bytes=75_000,
        tmem_columns=0,
        is_cooperative=False,
        uses_pdl=False,
        arguments=(
            Argument(name="kv_cache", kind="tensor", text="kv_cache+0 torch.float8_e4m3fn"),
            Argument(name="num_pages", kind="int", text=str(pages + 1)),
            Argument(name="TILE", kind="constexpr", text="64"),
        ),
        code=machine or code(),
    )
    return replace(plain, **changes)


def merge(**changes):
    small = code(sass_hash="b" * 64, loop_instructions=None, mma={}, registers=32, instructions=90)
    plain = {"kernel": "merge", "grid": (24, 1, 1), "shared_bytes": 0, "arguments": ()}
    return attend(128, machine=small, **{**plain, **changes})


def traffic(length, ratio=1.0, **changes):
    plain = Traffic(
        kv_bytes=round(WORKLOAD.kv_bytes(length) * ratio),
        stored_bytes=250_000,
        sampled=11,
        is_uniform=True,
        rows_per_iteration=64.0,
    )
    return replace(plain, **changes)


def call(length, *launches, ratio=1.0, q_dtype="bf16", counted=True):
    launches = launches or (attend(length), merge())
    first = traffic(length, ratio)
    rest = [traffic(length, 0.0, rows_per_iteration=None, stored_bytes=0) for _ in launches[1:]]
    return Call(q_dtype=q_dtype, length=length, launches=launches, traffic=(first, *rest) if counted else ())


def report(*calls, notes=(), bandwidth_gbps=0.0, arch=THOR):
    calls = calls or (call(128), call(4096), call(32768))
    return make_report(arch, TOOLCHAIN, WORKLOAD, calls, bandwidth_gbps=bandwidth_gbps, notes=notes)
