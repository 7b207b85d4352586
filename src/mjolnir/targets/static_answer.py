"""The answer of a facts worker, checked: types, bounds, and that it speaks of what was asked. Its words stay data."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, TypeVar

import msgspec

MAX_LAUNCHES = 64
_Name = Annotated[str, msgspec.Meta(min_length=1, max_length=300)]
_Text = Annotated[str, msgspec.Meta(max_length=8000)]
_Count = Annotated[int, msgspec.Meta(ge=0, le=2**62)]
_Extent = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]
_Small = Annotated[int, msgspec.Meta(ge=0, le=1024)]
_Positive = Annotated[int, msgspec.Meta(ge=1, le=1024)]
_Number = Annotated[float, msgspec.Meta(ge=0, le=2**53)]
_Grid = tuple[_Extent, _Extent, _Extent]
_SAFE_OPTIONS = re.compile(
    r"-v|-g|-lineinfo|-suppress-debug-info|--fmad=(true|false)|--regAllocOptLevel=\d|--gpu-name=sm_\d{2,3}[a-z]?"
    r"|--opt-level|--maxrregcount=\d{1,3}|-O[0-4]|[0-4]|--(allow-expensive-optimizations|disable-optimizer-constants)"
    r"(=(true|false))?"
)


class FailureAnswer(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the kernel did wrong, in its own words."""

    kind: Annotated[str, msgspec.Meta(pattern="^(unsupported|refused|resources|compiler|raised)$")]
    detail: _Text
    log: _Text


class ArgumentAnswer(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: _Name
    kind: Annotated[str, msgspec.Meta(pattern="^(int|float|bool|none|constexpr|tensor|other)$")]
    text: _Text


class LaunchAnswer(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """As core.static_facts.Launch; `unit` names the program."""

    kernel: Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z_][A-Za-z0-9_$.]{0,199}$")]
    grid: _Grid
    warps: _Positive
    stages: _Small
    ctas_per_cluster: _Positive
    shared_bytes: Annotated[int, msgspec.Meta(ge=0, le=2**30)]
    tmem_columns: _Small
    is_cooperative: bool
    uses_pdl: bool
    arguments: Annotated[tuple[ArgumentAnswer, ...], msgspec.Meta(max_length=256)]
    unit: _Name


class UnitAnswer(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A program: its PTX, and how Triton would have it assembled. `loop_dots`: products in the main loop's IR."""

    ptx: Annotated[str, msgspec.Meta(min_length=1, max_length=8 << 20)]
    tool: Annotated[str, msgspec.Meta(pattern="^ptxas(-blackwell)?$")]
    options: Annotated[tuple[_Name, ...], msgspec.Meta(max_length=32)]
    loop_dots: _Small


class CaptureRun(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    q_dtype: _Name
    length: _Count
    launches: Annotated[tuple[LaunchAnswer, ...], msgspec.Meta(max_length=MAX_LAUNCHES)]
    failure: FailureAnswer | None


class TrafficLaunch(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    kernel: _Name
    grid: _Grid
    kv_bytes: _Count
    stored_bytes: _Count
    sampled: _Count
    is_uniform: bool
    bytes_per_pass: _Number
    dots_per_pass: _Count


class TrafficRun(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    q_dtype: _Name
    length: _Count
    launches: Annotated[tuple[TrafficLaunch, ...], msgspec.Meta(max_length=MAX_LAUNCHES)]
    failure: FailureAnswer | None


class CaptureAnswer(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    triton: _Name
    torch: _Name
    runs: tuple[CaptureRun, ...]
    units: Annotated[dict[str, UnitAnswer], msgspec.Meta(max_length=MAX_LAUNCHES)]
    failure: FailureAnswer | None


class TrafficAnswer(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    triton: _Name
    torch: _Name
    runs: tuple[TrafficRun, ...]
    units: Annotated[dict[str, UnitAnswer], msgspec.Meta(max_length=0)]
    failure: FailureAnswer | None


_Answer = TypeVar("_Answer", CaptureAnswer, TrafficAnswer)


class BadAnswer(Exception):
    """The answer is not what a worker of ours writes."""


def read_capture(data: bytes, asked: Sequence[tuple[str, int]]) -> CaptureAnswer:
    """`asked`: (q dtype, L) in the order of the request; a failure may end a dtype early. Raises BadAnswer."""
    answer = _decode(data, CaptureAnswer)
    _require_asked([(r.q_dtype, r.length, r.failure) for r in answer.runs], asked, answer.failure)
    for run in answer.runs:
        if any(one.unit not in answer.units for one in run.launches) or not (run.launches or run.failure):
            raise BadAnswer("a launch names no program")
    return answer


def read_traffic(data: bytes, asked: Sequence[tuple[str, int]]) -> TrafficAnswer:
    """As `read_capture`."""
    answer = _decode(data, TrafficAnswer)
    _require_asked([(r.q_dtype, r.length, r.failure) for r in answer.runs], asked, answer.failure)
    return answer


def unsafe_option(options: Sequence[str]) -> str:
    """The first option of an assembler's command line that this program does not pass on; empty: none."""
    return next((word for word in options if not _SAFE_OPTIONS.fullmatch(word)), "")


def _decode(data: bytes, kind: type[_Answer]) -> _Answer:
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as e:
        raise BadAnswer(f"the worker's answer is not of the protocol: {str(e)[:200]}") from None


def _require_asked(
    runs: Sequence[tuple[str, int, FailureAnswer | None]],
    asked: Sequence[tuple[str, int]],
    failure: FailureAnswer | None,
) -> None:
    """The runs are the ones asked for, in order; after a failure the rest of its dtype is missing."""
    if failure is not None:
        if runs:
            raise BadAnswer("a kernel that did not load cannot run")
        return
    wanted, ended = iter(runs), set[str]()
    for q_dtype, length in asked:
        if q_dtype in ended:
            continue
        found = next(wanted, None)
        if found is None or found[:2] != (q_dtype, length):
            raise BadAnswer("the worker answers what nobody asked")
        if found[2] is not None:
            ended.add(q_dtype)
    if next(wanted, None) is not None:
        raise BadAnswer("the worker answers more than was asked")
