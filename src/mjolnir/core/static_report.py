"""From counted facts to a report: a row a distinct launch, the floor of each L, the difference to another report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mjolnir.core.gpu_arch import GpuArch, occupancy
from mjolnir.core.static_facts import (
    Call,
    Launch,
    LaunchFacts,
    StaticReport,
    Toolchain,
    Traffic,
    code_hash,
    group_launches,
)
from mjolnir.core.workload import PagedDecode

KV_RATIO_LIMIT = 1.02
"""More K and V than this is worth a word: real kernels that read each byte once stay below from L = 4K on."""


def make_report(
    arch: GpuArch,
    toolchain: Toolchain,
    workload: PagedDecode,
    calls: Sequence[Call],
    *,
    bandwidth_gbps: float,
    notes: Sequence[str] = (),
) -> StaticReport:
    """`bandwidth_gbps` 0: the device table's."""
    lengths = tuple(dict.fromkeys(call.length for call in calls))
    return StaticReport(
        arch=arch,
        toolchain=toolchain,
        workload=workload,
        calls=tuple(calls),
        launches=tuple(_facts(arch, workload, *group) for group in group_launches(calls)),
        code_hash=code_hash(arch.name, calls),
        floor_us=floor_us(arch, workload, lengths, bandwidth_gbps or arch.dram_gbps),
        notes=(*notes, *_traffic_notes(calls)),
    )


def floor_us(arch: GpuArch, workload: PagedDecode, lengths: Sequence[int], bandwidth_gbps: float) -> dict[int, float]:
    """Microseconds that the DRAM needs for K and V alone, by L. An L whose KV fits the L2 cache has none: it may be
    there already. Nor has any L on a device of unknown bandwidth."""
    if not bandwidth_gbps:
        return {}
    beyond_l2 = [n for n in lengths if workload.kv_bytes(n) > arch.l2_bytes]
    return {n: workload.kv_bytes(n) / bandwidth_gbps / 1e3 for n in beyond_l2}


def _facts(
    arch: GpuArch,
    workload: PagedDecode,
    q_dtype: str,
    launch: Launch,
    lengths: tuple[int, ...],
    traffic: Mapping[int, Traffic],
) -> LaunchFacts:
    code = launch.code
    rows = next((t.rows_per_iteration for t in traffic.values() if t.rows_per_iteration), None)
    per_row = code.loop_instructions * launch.warps / rows if code.loop_instructions is not None and rows else None
    return LaunchFacts(
        q_dtype=q_dtype,
        launch=launch,
        lengths=lengths,
        occupancy=occupancy(
            arch,
            registers=code.registers,
            warps=launch.warps,
            shared_bytes=launch.shared_bytes,
            tmem_columns=launch.tmem_columns,
        ),
        instructions_per_kv_row=per_row,
        rows_per_iteration=rows,
        bytes_ratio={n: t.kv_bytes / workload.kv_bytes(n) for n, t in traffic.items()},
        partial_bytes=max((t.stored_bytes for t in traffic.values()), default=0),
    )


def _traffic_notes(calls: Sequence[Call]) -> list[str]:
    uneven = {
        launch.kernel: None
        for call in calls
        for launch, traffic in zip(call.launches, call.traffic, strict=False)
        if not traffic.is_uniform
    }
    return [
        f"{kernel}: programs of one grid load different amounts of KV; its bytes are an estimate from a sample"
        for kernel in uneven
    ]


def worst_ratio(report: StaticReport, length: int | None = None) -> float | None:
    """The most bytes of K and V that any call loads per byte of KV (of one L, or of all); None: not counted."""
    calls = [c for c in report.calls if c.traffic and length in (None, c.length)]
    ratios = [sum(t.kv_bytes for t in c.traffic) / report.workload.kv_bytes(c.length) for c in calls]
    return max(ratios, default=None)


def main_launches(report: StaticReport) -> tuple[LaunchFacts, ...]:
    """The launches that do the attention: those with a main loop on tensor cores, all of them where none has one."""
    found = tuple(f for f in report.launches if f.launch.code.loop_instructions is not None and f.launch.code.mma)
    return found or report.launches


def report_json(report: StaticReport) -> dict[str, Any]:
    """The answer of `verify static --json` (mjolnir.static/1), without its schema."""
    chain = report.toolchain
    return {
        "arch": report.arch.name,
        "device": report.arch.device,
        "compiles": True,
        "toolchain": {"triton": chain.triton, "torch": chain.torch, "ptxas": chain.ptxas},
        "launches": [launch_json(facts) for facts in report.launches],
        "code_hash": report.code_hash,
        "floor_us": {str(n): us for n, us in report.floor_us.items()},
        "notes": list(report.notes),
    }


def launch_json(facts: LaunchFacts) -> dict[str, Any]:
    """One distinct launch."""
    launch, code = facts.launch, facts.launch.code
    return {
        "kernel": launch.kernel,
        "q_dtype": facts.q_dtype,
        "lengths": list(facts.lengths),
        "grid": list(launch.grid),
        "constexprs": launch.constexprs(),
        "warps": launch.warps,
        "stages": launch.stages,
        "registers": code.registers,
        "spills": code.spills,
        "spill_bytes": code.spill_bytes,
        "stack_bytes": code.stack_bytes,
        "shared_bytes": launch.shared_bytes,
        "tmem_columns": launch.tmem_columns,
        "ctas_per_sm": facts.occupancy.ctas_per_sm,
        "limiter": facts.occupancy.limiter,
        "ctas_per_sm_queried": facts.occupancy.queried_ctas_per_sm,
        "instructions": code.instructions,
        "loop_instructions": code.loop_instructions,
        "rows_per_iteration": facts.rows_per_iteration,
        "instructions_per_kv_row": facts.instructions_per_kv_row,
        "mix": dict(code.mix),
        "mma": dict(code.mma),
        "bytes_ratio": max(facts.bytes_ratio.values(), default=None),
        "bytes_ratio_per_L": {str(n): ratio for n, ratio in facts.bytes_ratio.items()},
        "partial_bytes": facts.partial_bytes,
        "sass_hash": code.sass_hash,
    }
