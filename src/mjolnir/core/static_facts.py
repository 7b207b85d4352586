"""What is known of a GPU kernel without a GPU: its launches, their machine code, the bytes of K and V that they load.

All of it is counted, none of it is a time. `code_hash` says whether two kernels are the same program to a device.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from mjolnir.core.gpu_arch import GpuArch, Occupancy
from mjolnir.core.workload import PagedDecode


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """One argument of a launch. `kind`: int, float, bool, none, constexpr, tensor or other; `text` says its value, or
    for a tensor what it is a view of, its dtype, shape and strides."""

    name: str
    kind: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineCode:
    """One compiled kernel. `mix` and `mma` count the instructions of the main loop, of the whole kernel where it has
    none (`loop_instructions` None). `spills`: loads from and stores to local memory."""

    registers: int
    stack_bytes: int
    spills: int
    spill_bytes: int
    instructions: int
    sass_hash: str
    loop_instructions: int | None
    mix: Mapping[str, int]
    mma: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """One launch of one call of decode, as the host code made it."""

    kernel: str
    grid: tuple[int, int, int]
    warps: int
    stages: int
    ctas_per_cluster: int
    shared_bytes: int
    tmem_columns: int
    is_cooperative: bool
    uses_pdl: bool
    arguments: tuple[Argument, ...]
    code: MachineCode

    def constexprs(self) -> dict[str, str]:
        """Compile-time arguments by name."""
        return {a.name: a.text for a in self.arguments if a.kind == "constexpr"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """What a launch loads of K and V, counted in the interpreter.

    kv_bytes     bytes of the KV cache that the whole grid loads
    stored_bytes bytes that it stores to anything but `out`: partial results
    sampled      programs of the grid that were run; the rest is taken to be alike
    is_uniform   False: programs on other axes of the grid load another amount, so kv_bytes is an estimate
    rows_per_iteration  KV rows (K and V of one token of one head) of one pass of the main loop; None: not known
    """

    kv_bytes: int
    stored_bytes: int
    sampled: int
    is_uniform: bool
    rows_per_iteration: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """The launches of one call of decode, in order. `traffic` has one entry a launch, or is empty: not counted."""

    q_dtype: str
    length: int
    launches: tuple[Launch, ...]
    traffic: tuple[Traffic, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchFacts:
    """A distinct launch: the same kernel, grid and machine code at `lengths`. `bytes_ratio`: K and V bytes loaded per
    byte of KV by L, empty where that was not counted; `partial_bytes`: the most that one launch stores besides out."""

    q_dtype: str
    launch: Launch
    lengths: tuple[int, ...]
    occupancy: Occupancy
    instructions_per_kv_row: float | None
    rows_per_iteration: float | None
    bytes_ratio: Mapping[int, float]
    partial_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Toolchain:
    """Versions that decide what the compiler makes of a kernel."""

    triton: str
    torch: str
    ptxas: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StaticReport:
    """All facts of one kernel on one device. `floor_us` by L: no call can be faster with a cold cache; a bound, never
    a prediction. `notes` are sentences for people."""

    arch: GpuArch
    toolchain: Toolchain
    workload: PagedDecode
    calls: tuple[Call, ...]
    launches: tuple[LaunchFacts, ...]
    code_hash: str
    floor_us: Mapping[int, float]
    notes: tuple[str, ...] = ()

    @property
    def q_dtypes(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(call.q_dtype for call in self.calls))

    @property
    def lengths(self) -> tuple[int, ...]:
        return tuple(dict.fromkeys(call.length for call in self.calls))


@dataclass(frozen=True, slots=True, kw_only=True)
class StaticFailure:
    """The kernel has no facts: it does not compile, exceeds a limit of the device, or its host code fails.

    kind    unsupported (NotImplementedError), refused, resources, compiler or raised
    detail  one line; `log` the whole text of whoever complained
    """

    kind: str
    detail: str
    log: str = ""
    toolchain: Toolchain | None = None


def code_hash(arch: str, calls: Sequence[Call]) -> str:
    """Lower-case hex sha256 over what the device is given at every L: the normalised SASS of each launch in order, with
    grid, constexprs, warps, stages and scalar arguments. Names, comments and line numbers are not in it."""
    document = [arch, [[call.q_dtype, call.length, [_identity(one) for one in call.launches]] for call in calls]]
    text = json.dumps(document, separators=(",", ":"), sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _identity(launch: Launch) -> list[object]:
    """What tells a launch from another one to a device: positions count, names do not."""
    return [
        launch.code.sass_hash,
        list(launch.grid),
        [launch.warps, launch.stages, launch.ctas_per_cluster, launch.shared_bytes, launch.tmem_columns],
        [launch.is_cooperative, launch.uses_pdl],
        [[a.kind, a.text] for a in launch.arguments],
    ]


def is_same_program(a: StaticReport, b: StaticReport) -> bool:
    """True when both kernels are the same machine code in the same launches at the same lengths; what torch itself does
    on the device is not looked at. False for reports over other lengths, dtypes or devices: nobody can compare them."""
    is_comparable = (a.arch.name, a.q_dtypes, a.lengths) == (b.arch.name, b.q_dtypes, b.lengths)
    return is_comparable and bool(a.calls) and a.code_hash == b.code_hash


@dataclass(slots=True)
class _Group:
    """The calls that make one launch of the table."""

    q_dtype: str
    launch: Launch
    lengths: list[int] = field(default_factory=list)
    traffic: dict[int, Traffic] = field(default_factory=dict)


def group_launches(calls: Sequence[Call]) -> list[tuple[str, Launch, tuple[int, ...], dict[int, Traffic]]]:
    """(q dtype, launch, lengths, traffic by length) of each distinct launch, in the order in which they first occur.

    Distinct in kernel, grid, machine code, warps, stages or constexprs; scalar arguments that grow with L are not.
    """
    groups: dict[object, _Group] = {}
    for call in calls:
        for i, launch in enumerate(call.launches):
            group = groups.setdefault(launch_key(call.q_dtype, launch), _Group(call.q_dtype, launch))
            if call.length not in group.lengths:
                group.lengths.append(call.length)
            if call.traffic:
                # A kernel that is launched twice in a call: its bytes add up.
                group.traffic[call.length] = _sum(group.traffic.get(call.length), call.traffic[i])
    return [(g.q_dtype, g.launch, tuple(g.lengths), g.traffic) for g in groups.values()]


def launch_key(q_dtype: str, launch: Launch) -> object:
    """Equal for launches that share a row of the table."""
    constexprs = tuple(sorted(launch.constexprs().items()))
    return q_dtype, launch.kernel, launch.grid, launch.code.sass_hash, launch.warps, launch.stages, constexprs


def _sum(a: Traffic | None, b: Traffic) -> Traffic:
    if a is None:
        return b
    return Traffic(
        kv_bytes=a.kv_bytes + b.kv_bytes,
        stored_bytes=a.stored_bytes + b.stored_bytes,
        sampled=a.sampled + b.sampled,
        is_uniform=a.is_uniform and b.is_uniform,
        rows_per_iteration=a.rows_per_iteration or b.rows_per_iteration,
    )
