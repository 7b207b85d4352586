"""The clock of gpu_check.py: CUDA events around calls with a cold L2, legs in turns, and what the device can copy."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
import torch
from gpu_check_cases import Decode, synchronize
from gpu_check_document import in_one_line
from gpu_check_inputs import Inputs, bits_of, encode, make_inputs
from gpu_check_legs import Leg, flashinfer_leg, kernel_leg, sdpa_leg
from gpu_check_oracle import OUT_FILL_BITS, attend, compare

from mjolnir.core.cases import Case
from mjolnir.core.stats import median
from mjolnir.core.workload import PagedDecode

ROUNDS = 100
"""Timed calls of each leg at each L."""
WARM_UP_CALLS = 5
SLEEP_CYCLES = 2_000_000
"""About 1 ms: the device waits so long that the host has queued the whole call, and events see no gap of the host's."""
LEAST_FLUSH_BYTES = 256 << 20
COPY_BYTES = 4 << 30
COPY_ROUNDS = 20
HOW = (
    f"CUDA events around one call (two launches for the kernel), {ROUNDS} calls a leg, legs in turns with the order "
    "rotated each round; before each call the L2 is evicted by reading a buffer of at least 4 times its size, then the "
    "device sleeps about 1 ms so that the host has queued the call. host_us is the host's time to queue a call. "
    "bytes counts K and V alone, each once; percent_of_copy compares with a device-to-device copy, which counts what "
    "it reads and what it writes"
)


class Clock(Protocol):
    def time_us(self, leg: Callable[[], None]) -> float:
        """The device's time for one call with a cold L2."""
        ...


class EventClock:
    """CUDA events. Reading evicts: after writing, the kernel's own reads would first have to write the buffer back."""

    def __init__(self, device: torch.device) -> None:
        l2_bytes = getattr(torch.cuda.get_device_properties(device), "L2_cache_size", 0)
        self.flush_bytes = max(LEAST_FLUSH_BYTES, 4 * l2_bytes)
        self._buffer = torch.ones(self.flush_bytes // 4, device=device)
        self._sink = torch.empty((), device=device)
        self._begin, self._end = (torch.cuda.Event(enable_timing=True) for _ in range(2))

    def time_us(self, leg: Callable[[], None]) -> float:
        torch.sum(self._buffer, dim=0, out=self._sink)
        torch.cuda._sleep(SLEEP_CYCLES)
        self._begin.record()
        leg()
        self._end.record()
        self._end.synchronize()
        return float(self._begin.elapsed_time(self._end) * 1e3)


def time_legs(legs: Mapping[str, Callable[[], None]], clock: Clock, rounds: int) -> dict[str, list[float]]:
    """`rounds` times of each leg in microseconds. The legs take turns; each round begins with another one."""
    names = list(legs)
    times: dict[str, list[float]] = {name: [] for name in names}
    for number in range(rounds):
        first = number % len(names)
        for name in names[first:] + names[:first]:
            times[name].append(clock.time_us(legs[name]))
    return times


def summarise(times_us: Sequence[float], num_bytes: int, copy_gbps: float | None) -> dict[str, Any]:
    """Median and spread of one leg at one L, and what it makes of the bandwidth (GB are 1e9 bytes)."""
    low, high = np.percentile(times_us, (25, 75))
    middle = median(times_us)
    gbps = num_bytes / middle / 1e3
    return {
        "median_us": round(middle, 3),
        "quartiles_us": [round(float(low), 3), round(float(high), 3)],
        "range_us": [round(min(times_us), 3), round(max(times_us), 3)],
        "calls": len(times_us),
        "bytes": num_bytes,
        "gbps": round(gbps, 1),
        "percent_of_copy": None if copy_gbps is None else round(100 * gbps / copy_gbps, 1),
    }


def copy_bandwidth_gbps(device: torch.device) -> float:
    """What a device-to-device copy moves, read and written bytes together: the median of 20 copies of 4 GiB or less."""
    free, _ = torch.cuda.mem_get_info(device)
    num_bytes = min(COPY_BYTES, free // 4)
    source = torch.ones(num_bytes, dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    rates = []
    for _ in range(3 + COPY_ROUNDS):
        begin.record()
        target.copy_(source)
        end.record()
        end.synchronize()
        rates.append(2 * num_bytes / begin.elapsed_time(end) / 1e6)
    return float(median(rates[3:]))


def time_length(
    length: int, decode: Decode, seed: int, device: torch.device, clock: Clock, copy_gbps: float, *, flashinfer: bool
) -> dict[str, Any]:
    """One L: every leg built, warmed up, timed in turns, and its last answer compared with the exact one."""
    legs, left_out = _legs(length, decode, seed, device, flashinfer=flashinfer)
    for leg in legs:
        for _ in range(WARM_UP_CALLS):
            leg.run()
        bits_of(leg.out).fill_(OUT_FILL_BITS)
    times = time_legs({leg.name: leg.run for leg in legs}, clock, ROUNDS)
    found = {}
    for leg in legs:
        answer = compare(leg.out, leg.expected, leg.case)
        found[leg.name] = {
            **summarise(times[leg.name], leg.num_bytes, copy_gbps),
            "host_us": round(_host_us(leg, device), 1),
            "what": leg.what,
            "correct": answer.passed,
            "error": answer.error,
            "detail": answer.detail,
        }
    return {"L": length, "legs": found, "left_out": left_out}


def _legs(
    length: int, decode: Decode, seed: int, device: torch.device, *, flashinfer: bool
) -> tuple[list[Leg], dict[str, str]]:
    """The legs of one L on one cache, gauss inputs, q in bf16 and the same q in fp8; and those left out: why."""
    workload = PagedDecode()
    case = Case(family="gauss", lengths_tokens=(length,), workload=workload, table_pages=workload.pages(length))
    inputs = make_inputs(case, np.random.default_rng([seed, length]), device)
    legs, left_out = [], {}
    for name in ("bf16", "fp8_e4m3"):
        own = replace(inputs, q=encode(inputs.q.to(torch.float32), name))
        own_case = replace(case, workload=PagedDecode(q_dtype=name))
        legs.append(kernel_leg(own_case, own, attend(own).output, decode))
    expected = legs[0].expected
    builders: dict[str, Callable[[Case, Inputs, torch.Tensor], Leg]] = {"torch SDPA": sdpa_leg}
    if flashinfer:
        builders["FlashInfer"] = flashinfer_leg
    for name, build in builders.items():
        try:
            legs.append(build(case, inputs, expected))
        except Exception as error:  # noqa: BLE001  (another library's refusal of a device or dtype: said, not hidden)
            left_out[name] = in_one_line(error)
    return legs, left_out


def _host_us(leg: Leg, device: torch.device, calls: int = 20) -> float:
    """The host's time to queue one call, in microseconds: what a loop in Python pays where the device is faster."""
    times = []
    for _ in range(calls):
        synchronize(device)
        began = time.perf_counter()
        leg.run()
        times.append((time.perf_counter() - began) * 1e6)
    synchronize(device)
    return median(times)
