"""Which cases are checked on the device, and one case run. Part of gpu_check.py.

The plan is the tool's own (src/mjolnir/core/case_plan.py) over more shapes, and a few cases that only a device can
hold: page offsets beyond 2 ** 31 elements, more sequences than one wave has room for.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import torch
from gpu_check_document import in_one_line
from gpu_check_inputs import Inputs, bits_of, change_page, make_inputs
from gpu_check_oracle import OUT_FILL_BITS, Comparison, Exact, attend, compare, compare_lse
from torch import Tensor

from mjolnir.core.case_plan import plan_cases
from mjolnir.core.cases import Case, Padding, Scales
from mjolnir.core.workload import BYTES_PER_ELEMENT, PagedDecode

Decode = Callable[..., None]

Q_DTYPES = ("bf16", "fp8_e4m3")
OTHER_SHAPE_LENGTH = 1024
"""The longest L at which shapes other than the workload's are checked."""
GROUPS = ((28, 4), (8, 8), (16, 1), (5, 1))
"""(query heads, KV heads) beside the workload's: GQA groups of 7, 1, 16 and 5."""
FAR_PAGES = {128: 20000, 32: 80000}
"""Spare pages by page size, 5 GiB of cache: half of it lies beyond 2 ** 31 elements. 128 takes TMA, 32 pointers."""
_LARGE_BYTES = 1 << 30
_SOIL_BYTES = tuple(1 << n for n in range(10, 24))


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """group: sweep (the tool's quick plan), edge, shape or full (the tool's full plan)."""

    group: str
    case: Case
    is_strided: bool = False

    @property
    def name(self) -> str:
        w = self.case.workload
        shape = f"q {w.q_dtype} kv {w.kv_dtype} d{w.head_dim} page {w.page_size} {w.num_q_heads}/{w.num_kv_heads}"
        return f"{self.group}: {shape}: {self.case.name}{' strided' if self.is_strided else ''}"

    @property
    def cache_bytes(self) -> int:
        w = self.case.workload
        page = 2 * w.num_kv_heads * w.page_size * w.head_dim * BYTES_PER_ELEMENT[w.kv_dtype]
        return self.case.num_pages * page


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseResult:
    """One case's answer as it stands in the JSON. error: worst row-relative L2 of all calls; limit: its bound."""

    name: str
    group: str
    family: str
    q_dtype: str
    kv_dtype: str
    head_dim: int
    page_size: int
    lengths_tokens: tuple[int, ...]
    passed: bool
    unsupported: bool
    calls: int
    error: float | None
    lse_error: float | None
    limit: float
    seconds: float
    detail: str
    is_device_lost: bool = False

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def plan(lengths: Sequence[int], seed: int, match: Sequence[str] = ()) -> tuple[Planned, ...]:
    """All cases in the order in which they run: what matters most first, since the budget may end before the last.

    lengths: the L of the sweep, in tokens. match keeps the cases whose name holds one of these texts, in any
    letter case.
    """
    own = [PagedDecode(q_dtype=name) for name in Q_DTYPES]
    planned: list[Planned] = []
    for workload in own:
        planned += [Planned(group="sweep", case=c) for c in plan_cases(workload, lengths, quick=True, seed=seed)]
    for workload in own:
        planned += _edges(workload, np.random.default_rng(seed))
    for workload in _other_shapes():
        cases = plan_cases(workload, (OTHER_SHAPE_LENGTH,), quick=True, seed=seed)
        planned += [Planned(group="shape", case=c) for c in cases if c.required]
    for workload in own:
        planned += [Planned(group="full", case=c) for c in plan_cases(workload, lengths, quick=False, seed=seed)]
    distinct = {p.name: p for p in planned}
    wanted = [text.lower() for text in match] or [""]
    return tuple(p for name, p in distinct.items() if any(text in name.lower() for text in wanted))


def run_case(planned: Planned, decode: Decode, seed: int, device: torch.device) -> CaseResult:
    """All calls of one case. The inputs are fixed by the seed and the case's name, whatever else is planned."""
    case, began = planned.case, time.monotonic()
    rng = np.random.default_rng([seed, zlib.crc32(planned.name.encode())])
    comparisons: list[Comparison] = []
    unsupported = is_lost = False
    try:
        for comparison in _calls(planned, decode, rng, device):
            comparisons.append(comparison)
            if not comparison.passed:
                break
    except NotImplementedError as error:
        unsupported = True
        comparisons.append(Comparison(passed=not case.required, detail=f"unsupported: {error}"))
    except Exception as error:  # noqa: BLE001  (the kernel or its compiler may raise anything: that is a wrong case)
        is_lost = _is_lost(device)
        comparisons.append(Comparison(passed=False, detail=in_one_line(error)))
    if planned.cache_bytes > _LARGE_BYTES and device.type == "cuda" and not is_lost:
        torch.cuda.empty_cache()
    w = case.workload
    return CaseResult(
        name=planned.name,
        group=planned.group,
        family=case.family,
        q_dtype=w.q_dtype,
        kv_dtype=w.kv_dtype,
        head_dim=w.head_dim,
        page_size=w.page_size,
        lengths_tokens=case.lengths_tokens,
        passed=all(c.passed for c in comparisons),
        unsupported=unsupported,
        calls=len(comparisons),
        error=_worst(c.error for c in comparisons),
        lse_error=_worst(c.lse_error for c in comparisons),
        limit=case.limit,
        seconds=round(time.monotonic() - began, 3),
        detail=next((c.detail for c in comparisons if c.detail), ""),
        is_device_lost=is_lost,
    )


def _edges(workload: PagedDecode, rng: np.random.Generator) -> Iterator[Planned]:
    """Borders of the launch: one split, counts that the compiler specialises on, many sequences, far pages."""

    def case(family: str, lengths: Sequence[int], table_pages: int, **more: Any) -> Case:
        shape = replace(workload, batch=len(lengths), page_size=more.pop("page_size", workload.page_size))
        return Case(family=family, lengths_tokens=tuple(lengths), workload=shape, table_pages=table_pages, **more)

    def random_lengths(count: int, most: int) -> list[int]:
        return [int(n) for n in rng.integers(1, most, count)]

    page = workload.page_size
    scales = Scales(q=0.37, k=0.37, v=1.9)
    yield Planned(group="edge", case=case("needle", [page - 28], 1, double_call=True))
    yield Planned(group="edge", case=case("needle", [16 * page], 16, spare_pages=16, scales=scales))
    yield Planned(group="edge", case=case("temperature3", random_lengths(32, 700), 8, padding=Padding.ANY_PAGE))
    yield Planned(group="edge", case=case("hist", random_lengths(80, 300), 4, padding=Padding.POISON_PAGE))
    yield Planned(group="edge", case=case("needle", [32 * page + 1], 40), is_strided=True)
    yield Planned(group="edge", case=case("needle", [4096], 34, spare_pages=FAR_PAGES[128]))
    yield Planned(group="edge", case=case("needle", [4097], 130, page_size=32, spare_pages=FAR_PAGES[32]))


def _other_shapes() -> Iterator[PagedDecode]:
    for q_dtype in Q_DTYPES:
        for head_dim in (256, 128):
            for page_size in (128, 64, 32, 16):
                if (head_dim, page_size) != (256, 128):
                    yield PagedDecode(q_dtype=q_dtype, head_dim=head_dim, page_size=page_size)
        yield PagedDecode(q_dtype=q_dtype, kv_dtype="bf16")
        yield PagedDecode(q_dtype=q_dtype, kv_dtype="bf16", head_dim=128, page_size=16)
        for num_q_heads, num_kv_heads in GROUPS:
            yield PagedDecode(q_dtype=q_dtype, head_dim=128, num_q_heads=num_q_heads, num_kv_heads=num_kv_heads)


def _calls(planned: Planned, decode: Decode, rng: np.random.Generator, device: torch.device) -> Iterator[Comparison]:
    """Each call's comparison: the first, the same again without filling `out` anew, and after a page's V changed."""
    case = planned.case
    inputs = make_inputs(case, rng, device, is_strided=planned.is_strided)
    exact = attend(inputs)
    shape = (case.workload.batch, case.workload.num_q_heads, case.workload.head_dim)
    out = torch.empty(shape, dtype=torch.bfloat16, device=device)
    words = ["first", *["again"] * case.double_call, *["changed"] * case.changed_calls]
    for number, word in enumerate(words):
        if word == "changed":
            change_page(inputs, exact.output, exact.page_shares, case, rng)
            exact = attend(inputs)
        if word != "again":
            bits_of(out).fill_(OUT_FILL_BITS)
        lse = torch.full(shape[:2], float("nan"), device=device) if number % 2 == 0 else None
        before = [bits.clone() for bits in _bits(inputs)]
        _soil_free_memory(device)
        call(decode, inputs, out, lse)
        comparison = _judge(out, lse, exact, case)
        if any(not torch.equal(a, b) for a, b in zip(before, _bits(inputs), strict=True)):
            comparison = replace(comparison, passed=False, detail="an input was written")
        yield replace(
            comparison, detail=f"call {number + 1} ({word}): {comparison.detail}" if comparison.detail else ""
        )


def call(decode: Decode, inputs: Inputs, out: Tensor, lse: Tensor | None = None) -> None:
    """One call of a kernel file's `decode`; waits until the device has finished it."""
    arguments = {"sm_scale": inputs.sm_scale, "q_scale": inputs.q_scale, "k_scale": inputs.k_scale}
    more = {} if lse is None else {"lse": lse}
    arrays = (inputs.q, inputs.kv_cache, inputs.page_table, inputs.seq_lens)
    decode(*arrays, **arguments, v_scale=inputs.v_scale, out=out, **more)
    synchronize(out.device)


def synchronize(device: torch.device) -> None:
    """Waits until the device has done what was queued."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def _judge(out: Tensor, lse: Tensor | None, exact: Exact, case: Case) -> Comparison:
    comparison = compare(out, exact.output, case)
    if lse is None or not comparison.passed:
        return comparison
    return replace(compare_lse(lse, exact), error=comparison.error)


def _bits(inputs: Inputs) -> tuple[Tensor, ...]:
    return bits_of(inputs.q), bits_of(inputs.kv_cache), inputs.page_table, inputs.seq_lens


def _soil_free_memory(device: torch.device) -> None:
    """NaN in the blocks that the next torch.empty is given, so that a read of what no split wrote shows."""
    blocks = [torch.full((size // 4,), float("nan"), device=device) for size in _SOIL_BYTES]
    del blocks


def _is_lost(device: torch.device) -> bool:
    """After an illegal access every further call on the device fails: no case can be run any more."""
    try:
        synchronize(device)
    except RuntimeError:
        return True
    return False


def _worst(errors: Iterator[float | None]) -> float | None:
    return max((e for e in errors if e is not None), default=None)
