"""Bytes of K and V by launch: asked of a worker that runs a sample of each grid, or remembered from an earlier time.

A kernel whose bytes cannot be counted (inline assembly, a wait for another program, an untested interpreter) keeps its
other facts: that it could not be counted is a note.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import mjolnir
from mjolnir.core.lengths import length_label
from mjolnir.core.static_facts import Traffic
from mjolnir.core.workload import BYTES_PER_ELEMENT, PagedDecode
from mjolnir.sandbox.answer import AskedWorker, NoAnswer
from mjolnir.targets import static_cache
from mjolnir.targets.static_answer import BadAnswer, CaptureRun, TrafficAnswer, TrafficLaunch, UnitAnswer, read_traffic
from mjolnir.targets.static_tools import GpuTools

TRIED_VERSIONS = ("3.6.0", "3.9.0")
"""Versions of Triton whose interpreter the counting worker was tried with: it replaces parts of it."""
TrafficByCall = Mapping[tuple[str, int], tuple[Traffic, ...]]
_WORKER_FILES = ("kv_traffic.py", "fast_interpreter.py", "capture.py", "stub_driver.py")


class TrafficQuestion:
    """One kernel's bytes. `remembered`: the raw answer of an earlier time; `worker`: who is asked else."""

    def __init__(self, blob: bytes, request: Mapping[str, Any], tools: GpuTools, *, trusts_cache: bool = True) -> None:
        self.notes: list[str] = []
        self.worker: AskedWorker | None = None
        self._is_tried = tools.triton in TRIED_VERSIONS
        folder = Path(mjolnir.__file__).parent / "worker"
        sources = [(folder / name).read_bytes() for name in _WORKER_FILES]
        self._key = static_cache.cache_key(
            blob, json.dumps(request, sort_keys=True), tools.triton, tools.torch, *sources
        )
        known = static_cache.read_entry(self._key) if trusts_cache else None
        self.remembered = json.dumps(known).encode() if known is not None else None
        if not self._is_tried:
            self.remembered = b""
            self.notes.append(
                f"bytes of K and V not counted: the interpreter of triton {tools.triton} was not tried; tried: "
                f"{', '.join(TRIED_VERSIONS)}"
            )

    def answer(
        self,
        runs: Sequence[CaptureRun],
        units: Mapping[str, UnitAnswer],
        workload: PagedDecode,
        asked: Sequence[tuple[str, int]],
        deadline: float,
    ) -> TrafficByCall:
        """Traffic of each launch by (q dtype, L); without an entry where it could not be counted."""
        answer = self._read_or_note(asked, deadline)
        if answer is None:
            return {}
        found: dict[tuple[str, int], tuple[Traffic, ...]] = {}
        by_call = {(run.q_dtype, run.length): run for run in answer.runs}
        for run in runs:
            counted = by_call.get((run.q_dtype, run.length))
            place = f"L={length_label(run.length)}, q {run.q_dtype}"
            if counted is None:
                continue  # a shorter L failed, and its note is there
            if counted.failure is not None:
                self.notes.append(f"bytes of K and V not counted from {place} on: {counted.failure.detail}")
            elif [one.grid for one in counted.launches] != [one.grid for one in run.launches]:
                self.notes.append(f"bytes of K and V not counted at {place}: the interpreter makes other launches")
            else:
                pairs = zip(run.launches, counted.launches, strict=True)
                found[run.q_dtype, run.length] = tuple(
                    _traffic(two, units[one.unit].loop_dots, workload) for one, two in pairs
                )
        return found

    def _read_or_note(self, asked: Sequence[tuple[str, int]], deadline: float) -> TrafficAnswer | None:
        if not self._is_tried:
            return None
        try:
            answer = self._read(asked, deadline)
        except (NoAnswer, BadAnswer) as e:
            self.notes.append(f"bytes of K and V not counted: {e}")
            return None
        if answer.failure is not None:
            self.notes.append(f"bytes of K and V not counted: {answer.failure.detail}")
        return answer

    def _read(self, asked: Sequence[tuple[str, int]], deadline: float) -> TrafficAnswer:
        if self.remembered is not None:
            return read_traffic(self.remembered, asked)
        assert self.worker is not None
        data = self.worker.read_answer(deadline)
        answer = read_traffic(data, asked)
        if answer.failure is None and not any(run.failure for run in answer.runs):
            static_cache.write_entry(self._key, json.loads(data))
        return answer


def _traffic(counted: TrafficLaunch, loop_dots: int, workload: PagedDecode) -> Traffic:
    """KV rows of one pass of the compiled loop: those of a pass of the source's loop, as often as it was unrolled."""
    row_bytes = 2 * workload.head_dim * BYTES_PER_ELEMENT[workload.kv_dtype]
    rows = counted.bytes_per_pass / row_bytes
    dots = counted.dots_per_pass
    unrolled = loop_dots // dots if dots and loop_dots and loop_dots % dots == 0 else 1
    return Traffic(
        kv_bytes=counted.kv_bytes,
        stored_bytes=counted.stored_bytes,
        sampled=counted.sampled,
        is_uniform=counted.is_uniform,
        rows_per_iteration=rows * unrolled or None,
    )
