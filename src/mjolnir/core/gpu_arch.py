"""What a GPU gives one kernel: the devices that are meant when no device is at hand, and how many CTAs an SM holds.

Sources. Per compute capability (registers, shared memory, threads and CTAs of an SM): CUDA C++ Programming Guide,
"Technical Specifications per Compute Capability", and cuda/experimental/__device/arch_traits.cuh of CCCL. Per device
(SMs, DRAM, L2): NVIDIA's data sheet of the device that is named.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

WARP_THREADS = 32
REGISTER_UNIT = 256
"""Registers are given to a warp in units of this many (CUDA occupancy calculator, capability 3.0 and newer)."""
WARP_UNIT = 4
"""The four quarters of an SM have registers of their own: warps fit in fours."""
SHARED_UNIT_BYTES = 128
RESERVED_SHARED_BYTES = 1024
"""What the system keeps of an SM's shared memory for each CTA (capability 8.0 and newer)."""
TENSOR_MEMORY_COLUMNS = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuArch:
    """One device. `queried_shared_per_sm_bytes`: what its driver reports, where that contradicts the table; None: it
    does not. `dram_gbps` 0 and `l2_bytes` 0: not known here."""

    name: str
    device: str
    sm_count: int
    shared_per_sm_bytes: int
    shared_per_cta_bytes: int
    threads_per_sm: int
    ctas_per_sm: int
    registers_per_sm: int = 65_536
    dram_gbps: float = 0.0
    l2_bytes: int = 0
    has_tensor_memory: bool = False
    queried_shared_per_sm_bytes: int | None = None

    @property
    def capability(self) -> int:
        """110 for sm_110a."""
        return int("".join(c for c in self.name if c.isdigit()))

    def driver_answers(self) -> dict[str, int]:
        """What a stub of the device's driver is told: capability, SMs, shared memory that one CTA may have in bytes."""
        return {
            "capability": self.capability,
            "sm_count": self.sm_count,
            "shared_per_cta_bytes": self.shared_per_cta_bytes,
        }


_KIB, _MIB = 1 << 10, 1 << 20
ARCHES: Mapping[str, GpuArch] = {
    arch.name: arch
    for arch in (
        GpuArch(
            name="sm_90a",
            device="H200",
            sm_count=132,
            shared_per_sm_bytes=228 * _KIB,
            shared_per_cta_bytes=227 * _KIB,
            threads_per_sm=2048,
            ctas_per_sm=32,
            dram_gbps=4800.0,  # data sheet: 4.8 TB/s
            l2_bytes=50 * _MIB,
        ),
        GpuArch(
            name="sm_100a",
            device="B200",
            sm_count=148,
            shared_per_sm_bytes=228 * _KIB,
            shared_per_cta_bytes=227 * _KIB,
            threads_per_sm=2048,
            ctas_per_sm=32,
            dram_gbps=8000.0,  # data sheet: 8 TB/s
            l2_bytes=126 * _MIB,
            has_tensor_memory=True,
        ),
        GpuArch(
            name="sm_110a",
            device="Jetson AGX Thor",
            sm_count=20,
            shared_per_sm_bytes=228 * _KIB,
            shared_per_cta_bytes=227 * _KIB,
            threads_per_sm=1536,
            ctas_per_sm=24,
            dram_gbps=273.0,  # data sheet: 273 GB/s
            l2_bytes=32 * _MIB,
            has_tensor_memory=True,
            # What cudaDevAttrMaxSharedMemoryPerMultiprocessor was seen to say on a Thor. CTAs of 200 KB each that ran
            # two at a time there agree with it and not with the table.
            queried_shared_per_sm_bytes=665_600,
        ),
        GpuArch(
            name="sm_120a",
            device="GeForce RTX 5090",
            sm_count=170,
            shared_per_sm_bytes=100 * _KIB,
            shared_per_cta_bytes=99 * _KIB,
            threads_per_sm=1536,
            ctas_per_sm=24,
            dram_gbps=1792.0,  # data sheet: 1,792 GB/s
            l2_bytes=96 * _MIB,
        ),
    )
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Occupancy:
    """CTAs that one SM holds at a time, what ends it there, and the same with the shared memory that the driver
    reports (None: it does not contradict the table). Not a measure of speed: fewer can be faster."""

    ctas_per_sm: int
    limiter: str
    queried_ctas_per_sm: int | None = None


def occupancy(arch: GpuArch, *, registers: int, warps: int, shared_bytes: int, tmem_columns: int) -> Occupancy:
    """CTAs per SM of a kernel with `registers` a thread, `warps` and `shared_bytes` a CTA.

    `limiter`: registers, shared, threads, blocks or tensor memory; the first of them where several agree.
    """
    limits = _limits(arch, arch.shared_per_sm_bytes, registers, warps, shared_bytes, tmem_columns)
    limiter = min(limits, key=lambda name: limits[name])
    queried = None
    if arch.queried_shared_per_sm_bytes is not None:
        found = _limits(arch, arch.queried_shared_per_sm_bytes, registers, warps, shared_bytes, tmem_columns)
        queried = min(found.values()) if min(found.values()) != limits[limiter] else None
    return Occupancy(ctas_per_sm=limits[limiter], limiter=limiter, queried_ctas_per_sm=queried)


def _limits(
    arch: GpuArch, shared_per_sm: int, registers: int, warps: int, shared_bytes: int, tmem_columns: int
) -> dict[str, int]:
    registers_per_warp = max(1, _round_up(registers * WARP_THREADS, REGISTER_UNIT))
    warps_per_sm = arch.registers_per_sm // registers_per_warp // WARP_UNIT * WARP_UNIT
    limits = {
        "registers": warps_per_sm // warps,
        "shared": shared_per_sm // _round_up(shared_bytes + RESERVED_SHARED_BYTES, SHARED_UNIT_BYTES),
        "threads": arch.threads_per_sm // (warps * WARP_THREADS),
        "blocks": arch.ctas_per_sm,
    }
    if tmem_columns and arch.has_tensor_memory:
        limits["tensor memory"] = TENSOR_MEMORY_COLUMNS // tmem_columns
    return limits


def _round_up(value: int, unit: int) -> int:
    return -(-value // unit) * unit
