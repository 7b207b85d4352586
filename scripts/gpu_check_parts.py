"""The three parts of gpu_check.py in their order, each within the budget: correctness, sanitizer, timing."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from gpu_check_cases import Decode, Planned, run_case
from gpu_check_document import Budget, Document, Watchdog, in_one_line, say
from gpu_check_machine import Child, judge_sanitizer, start_flashinfer_build, start_sanitizer
from gpu_check_timing import HOW, EventClock, copy_bandwidth_gbps, time_length

CASE_S = 15.0
"""A case may have to compile: 10 s for a large one on a slow machine."""
LENGTH_S = 15.0
TIMING_RESERVE_S = 75.0
"""Seconds that the parts before it leave to the timing, but no more than 30 % of the budget."""
SANITIZER_S = 60.0
"""It starts together with the correctness part; this is waited for after that, where a timing follows."""
LARGE_BYTES = 1 << 30
"""The interpreter gets no cache larger than this."""
_PROGRESS_CASES = 25
NO_TIME = "no time left in the budget"


@dataclass(kw_only=True)
class Check:
    """One run of the script. wrong: cases, memcheck findings and timed kernel answers that were not right."""

    options: argparse.Namespace
    budget: Budget
    document: Document
    watchdog: Watchdog
    device: torch.device
    decode: Decode
    planned: Sequence[Planned]
    lengths: Sequence[int]
    wrong: int = 0

    def run(self) -> None:
        only = self.options.only
        on_gpu = self.device.type == "cuda"
        wants_timing = on_gpu and only != "correctness"
        wants_sanitizer = on_gpu and only != "timing" and not self.options.no_sanitizer
        sanitizer = self._start(start_sanitizer(self.options.seed, self.options.minutes)) if wants_sanitizer else None
        build = self._start(start_flashinfer_build()) if wants_timing else None
        reserve_s = min(TIMING_RESERVE_S, 0.3 * self.budget.total_s) if wants_timing else 0.0
        try:
            if only != "timing":
                self.check_cases(reserve_s)
            if wants_sanitizer:
                self.check_memory(sanitizer, reserve_s)
            if wants_timing:
                self.time(has_flashinfer=self._is_built(build, reserve_s))
            elif only != "correctness":
                self.document.skip("timing", "an interpreter is no clock")
        finally:
            self.watchdog.end_children()

    def check_cases(self, reserve_s: float) -> None:
        """Every planned case for which there is time and memory; a case that is not run is named."""
        self._begin(f"correctness: {len(self.planned)} cases, seed {self.options.seed}")
        self.document.put(skipped_cases=[])
        right = 0
        for number, one in enumerate(self.planned):
            if not self.budget.has_room_for(CASE_S, reserve_s=reserve_s):
                self._leave_out(self.planned[number:], NO_TIME)
                break
            if why := does_not_fit(one.cache_bytes, self.device):
                self._leave_out([one], why)
                continue
            self.watchdog.part = one.name
            result = run_case(one, self.decode, self.options.seed, self.device)
            self.document.add("cases", result.as_json())
            right += result.passed
            if not result.passed:
                self.wrong += 1
                say(f"WRONG {one.name}: {result.detail}", self.budget)
            if result.is_device_lost:
                self._leave_out(self.planned[number + 1 :], f"the device is lost since {one.name}")
                break
            if (number + 1) % _PROGRESS_CASES == 0:
                say(f"{number + 1} of {len(self.planned)} cases", self.budget)
        self.document.write()
        say(f"{right} cases right, {self.wrong} wrong", self.budget)

    def check_memory(self, child: Child | None, reserve_s: float) -> None:
        """What compute-sanitizer's memcheck says."""
        part = "compute-sanitizer"
        self._begin(part)
        if child is None:
            self.document.skip(part, "it is not installed here")
            return
        left_s = self.budget.left_s - reserve_s
        if not child.wait(min(SANITIZER_S, left_s) if reserve_s else left_s - CASE_S):
            self.document.skip(part, f"did not end in time; its last line: {child.last_line()}")
            return
        found = judge_sanitizer(child)
        self.document.put(sanitizer=found)
        if found["passed"] is None:
            self.document.skip(part, f"it cannot look here: {found['detail']}")
        elif not found["passed"]:
            self.wrong += 1
            say(f"WRONG memcheck: {found['errors']} errors: {found['detail']}", self.budget)
        self.document.write()

    def time(self, *, has_flashinfer: bool) -> None:
        """All legs at each L for which there is time."""
        self._begin("timing")
        copy_gbps = copy_bandwidth_gbps(self.device)
        say(f"a copy on the device moves {copy_gbps:.0f} GB/s", self.budget)
        clock = EventClock(self.device)
        self.document.put(copy_gbps=round(copy_gbps, 1), how_timed=HOW, flush_bytes=clock.flush_bytes, timing=[])
        for number, length in enumerate(self.lengths):
            if not self.budget.has_room_for(LENGTH_S):
                self.document.skip(f"timing: L {', '.join(map(str, self.lengths[number:]))}", NO_TIME)
                break
            self.watchdog.part = f"timing: L {length}"
            seed, device = self.options.seed, self.device
            try:
                row = time_length(length, self.decode, seed, device, clock, copy_gbps, flashinfer=has_flashinfer)
            except Exception as error:  # noqa: BLE001  (the kernel may raise anything: wrong, and the next L is timed)
                row = {"L": length, "legs": {}, "left_out": {}, "error": in_one_line(error)}
            self._report(row)

    def _report(self, row: dict[str, Any]) -> None:
        """One L into the document and onto stderr."""
        length = row["L"]
        self.document.add("timing", row)
        self.document.write()
        if "error" in row:
            self.wrong += 1
            say(f"L {length:>6} WRONG {row['error']}", self.budget)
        for name, leg in row["legs"].items():
            self.wrong += name.startswith("kernel") and not leg["correct"]
            say(f"L {length:>6} {leg_line(name, leg)}", self.budget)
        for name, why in row["left_out"].items():
            self.document.skip(f"timing: L {length}: {name}", why)

    def _begin(self, part: str) -> None:
        self.watchdog.part = part
        say(part, self.budget)

    def _start(self, child: Child | None) -> Child | None:
        if child is not None:
            self.watchdog.children.append(child)
        return child

    def _leave_out(self, cases: Sequence[Planned], why: str) -> None:
        for one in cases:
            self.document.add("skipped_cases", one.name)
        if cases:
            rest = f" and {len(cases) - 1} more" if len(cases) > 1 else ""
            self.document.skip(f"correctness: {cases[0].name}{rest}", why)

    def _is_built(self, build: Child | None, reserve_s: float) -> bool:
        part = "timing: FlashInfer"
        if build is None:
            self.document.skip(part, "it is not installed here")
        elif not build.wait(self.budget.left_s - reserve_s):
            self.document.skip(part, "its compilation did not end in time")
        elif build.process.returncode:
            self.document.skip(part, f"it does not run here: {build.last_line()}")
        else:
            return True
        return False


def does_not_fit(cache_bytes: int, device: torch.device) -> str:
    """Why a case of that cache is not run here; empty when it is. A case holds its cache, a copy of it, and
    their comparison, beside room to work."""
    if device.type != "cuda":
        return "" if cache_bytes <= LARGE_BYTES else "only a device has the memory for it"
    free, _ = torch.cuda.mem_get_info(device)
    free += torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return "" if 3.2 * cache_bytes + LARGE_BYTES < free else f"{free >> 20} MiB of the device are free, too few"


def leg_line(name: str, leg: dict[str, object]) -> str:
    """One leg at one L, for people: "kernel q bf16  12.3 us  10.5 GB/s  0.2 % of a copy"."""
    figures = f"{leg['median_us']:>9} us {leg['gbps']:>8} GB/s {leg['percent_of_copy']:>5} % of a copy"
    wrong = "" if leg["correct"] else f"  WRONG {leg['detail']}"
    return f"{name:<20}{figures}{wrong}"
