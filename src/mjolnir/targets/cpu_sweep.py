"""Timing on cpu: per worker pair and L, legs interleaved in ABBA order; then every timed output is verified."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mjolnir.core.lengths import length_label
from mjolnir.core.model import Crashed, Measured, Sweep, Tampered
from mjolnir.core.stats import geomean
from mjolnir.core.workload import PagedDecode
from mjolnir.errors import EnvironmentFault
from mjolnir.oracle.check import CheckResult
from mjolnir.oracle.timed import TimedInputs, timed_inputs
from mjolnir.oracle.timed_attention import attend_timed
from mjolnir.sandbox.process import ReplyKind
from mjolnir.targets.cpu_clock import (
    ABBA_ROUNDS,
    MAX_CALLS,
    MAX_REPEATS,
    MIN_CALLS,
    Block,
    block_calls,
    diverged_blocks,
    summarise,
)
from mjolnir.targets.cpu_leg import Leg
from mjolnir.targets.cpu_timed_leg import MAX_IDLE_CPU_S, TimedLeg
from mjolnir.targets.protocol import Observe, Progress, SweepRequest
from mjolnir.targets.worker_words import describe_failure

WARM_CALLS = 8
SLOW_CALL_S = 0.05
"""A call that takes this long needs no second warm-up."""
_TOKENS_OF_INPUTS = 1 << 21
"""Bound on the timed inputs of one L: as many calls as attend to this many tokens, if that is enough for all blocks."""


@dataclass(slots=True)
class SweepRun:
    """What a sweep has measured so far. `blocks`: {L: [blocks of each pair]}."""

    blocks: dict[int, list[list[Block]]] = field(default_factory=dict)
    failure: Crashed | Tampered | None = None
    disturbed: dict[int, int] = field(default_factory=dict)
    idle_cpu_s: float = 0.0

    def outcome(self) -> Measured | Crashed | Tampered:
        if self.failure is not None:
            return self.failure
        measurements = tuple(summarise(length, of_pairs) for length, of_pairs in sorted(self.blocks.items()))
        return Measured(sweep=Sweep(measurements=measurements), unsteady=self._unsteady(), notes=self._notes())

    def _notes(self) -> tuple[str, ...]:
        """What a reader of the row should know of the machine's state; nothing on a quiet one."""
        disturbed = ", ".join(f"{length_label(n)} ({count})" for n, count in sorted(self.disturbed.items()))
        return (f"other load took CPU time from timed blocks at {disturbed}",) if disturbed else ()

    def _unsteady(self) -> str:
        if self.idle_cpu_s > MAX_IDLE_CPU_S:
            return f"the kernel's process worked {self.idle_cpu_s:.2f} s of CPU time while it was not called"
        for length, of_pairs in sorted(self.blocks.items()):
            diverged = diverged_blocks(of_pairs)
            if diverged:
                label = length_label(length)
                return f"at {label} other load took the CPU from {diverged} timed blocks, and their ratios scatter"
        return ""

    def document(self) -> dict[str, Any]:
        """The sweep's part of a run document: raw block means, by L and pair."""
        measured = self.outcome()
        by_length = measured.sweep.by_length() if isinstance(measured, Measured) else {}
        series = []
        for role, label in (("reference", "numpy/BLAS"), ("candidate", "kernel")):
            points = [
                {
                    "L": length,
                    "total_us": getattr(by_length[length], f"{role}_us") if length in by_length else None,
                    "blocks": [[_block_json(b) for b in of_pair if b.role == role] for of_pair in of_pairs],
                }
                for length, of_pairs in sorted(self.blocks.items())
            ]
            series.append({"id": role, "label": label, "role": role, "points": points})
        per_length = {str(n): m.speedup for n, m in by_length.items()}
        score = geomean(per_length.values()) if per_length else None
        return {"series": series, "summary": {"score": score, "per_L": per_length, "disturbed_blocks": self.disturbed}}


def _block_json(block: Block) -> dict[str, Any]:
    return {"mean_us": block.mean_us, "calls": block.calls[1] - block.calls[0], "cpu_share": block.cpu_share}


def run_sweep(
    pairs: Sequence[tuple[Leg, Leg]],
    workload: PagedDecode,
    request: SweepRequest,
    *,
    seed: int,
    deadline: float,
    observe: Observe,
) -> SweepRun:
    """Time (reference, candidate) pairs at every L. Raises EnvironmentFault when the reference is wrong."""
    run = SweepRun(blocks={length: [] for length in request.lengths})
    steps = [(pair, length) for pair in range(len(pairs)) for length in request.lengths]
    for step, (pair, length) in enumerate(steps):
        detail = f"L={length_label(length)}, worker pair {pair + 1} of {len(pairs)}"
        observe(Progress(stage="sweep", detail=detail, done=step, total=len(steps)))
        timing = _LengthTiming(run, pairs[pair], workload, length, [seed, pair, length], deadline)
        run.failure = timing.run(request.iters)
        if run.failure is not None:
            return run
    observe(Progress(stage="sweep", detail="done", done=len(steps), total=len(steps)))
    return run


class _LengthTiming:
    """One L on one pair of workers."""

    def __init__(
        self,
        run: SweepRun,
        pair: tuple[Leg, Leg],
        workload: PagedDecode,
        length: int,
        seed: Sequence[int],
        deadline: float,
    ) -> None:
        self.sweep = run
        self.length = length
        self.deadline = deadline
        self.random = random.Random(str(seed))
        timed = timed_inputs(workload, length, most_calls(length), np.random.default_rng(list(seed)))
        self.reference, self.candidate = TimedLeg(pair[0], timed), TimedLeg(pair[1], timed)

    def run(self, iters: int | None) -> Crashed | Tampered | None:
        calls = {}
        for leg in (self.reference, self.candidate):
            self._give_core_to(leg)
            call_s = self._pilot(leg)
            if call_s is None:
                return self._failed(leg)
            calls[leg.leg.role] = min(block_calls(call_s, iters, self.random), leg.left // (2 * ABBA_ROUNDS))
        blocks = self._blocks(calls)
        failed = next((leg for leg in (self.reference, self.candidate) if leg.failure is not None), None)
        if failed is not None:
            return self._failed(failed)
        self.sweep.blocks[self.length].append(blocks)
        self.sweep.idle_cpu_s = max(self.sweep.idle_cpu_s, self.candidate.idle_cpu_s)
        return self._verify()

    def _give_core_to(self, leg: TimedLeg) -> None:
        """Only the leg under the clock may run: a thread of the kernel cannot take the core from the reference."""
        other = self.candidate if leg is self.reference else self.reference
        other.leg.worker.pause()
        leg.leg.worker.resume()

    def _pilot(self, leg: TimedLeg) -> float | None:
        """Untimed calls: compiling and first touches, then an estimate of one call in seconds; None: it failed."""
        first = leg.block(1, self.deadline) if leg.put(self.deadline) else None
        if first is None:
            return None
        next_block = leg.block(1 if first.mean_us > 1e6 * SLOW_CALL_S else WARM_CALLS, self.deadline)
        return None if next_block is None else 1e-6 * next_block.mean_us

    def _blocks(self, calls: dict[str, int]) -> list[Block]:
        """reference candidate candidate reference, ABBA_ROUNDS times; a disturbed block is measured again."""
        blocks: list[Block] = []
        order = (self.reference, self.candidate, self.candidate, self.reference) * ABBA_ROUNDS
        repeats = MAX_REPEATS
        for number, leg in enumerate(order):
            count = calls[leg.leg.role]
            needed = count * (1 + sum(later is leg for later in order[number + 1 :]))
            self._give_core_to(leg)
            block = leg.block(count, self.deadline)
            while block is not None and block.is_disturbed and repeats > 0 and leg.left >= needed:
                repeats -= 1
                block = leg.block(count, self.deadline)
            if block is None:
                break
            if block.is_disturbed:
                self.sweep.disturbed[self.length] = self.sweep.disturbed.get(self.length, 0) + 1
            blocks.append(block)
        return blocks

    def _failed(self, leg: TimedLeg) -> Crashed | Tampered:
        reply = leg.failure
        assert reply is not None
        detail = f"L={length_label(self.length)}: {describe_failure(reply)}"
        if leg is self.reference:
            raise EnvironmentFault("E_WORKER", f"the reference failed at {detail}", "mjolnir doctor")
        if reply.kind == ReplyKind.CONTRACT:
            return Tampered(code="E_CONTRACT", detail=detail)
        log = "\n".join(part for part in (reply.text, leg.leg.worker.log) if part)
        return Crashed(stage="sweep", detail=detail, log=log)

    def _verify(self) -> Tampered | None:
        """Every timed output of both legs against the oracle; inputs as the harness left them."""
        used = max(self.reference.used, self.candidate.used)
        expected = attend_timed(_first_calls(self.reference.timed, used))
        wrong = self.reference.first_wrong(expected)
        if wrong is not None:
            detail = f"the reference is wrong at L={length_label(self.length)}: {wrong[1].detail}"
            raise EnvironmentFault("E_WORKER", detail, "mjolnir doctor")
        changed = self.candidate.changed_input()
        if changed is not None:
            return Tampered(
                code="E_MUTATES", detail=f"decode changed its input {changed} at L={length_label(self.length)}"
            )
        found = self.candidate.first_wrong(expected)
        return None if found is None else self._wrong(*found, expected)

    def _wrong(self, call: int, result: CheckResult, expected: NDArray[np.float64]) -> Tampered:
        where = f"timed call {call + 1} at L={length_label(self.length)}"
        if result.unwritten:
            return Tampered(code="E_UNWRITTEN", detail=f"{where}: {result.detail}")
        if self.candidate.is_older_answer(call, expected):
            return Tampered(code="E_STATE", detail=f"{where}: the answer is that of an earlier call")
        return Tampered(code="E_PROFILED", detail=f"{where} is wrong, though the check passed: {result.detail}")


def most_calls(length: int) -> int:
    """How many timed inputs to draw for one L: enough for all blocks and some repeats, bounded for long ones."""
    pilot = 1 + WARM_CALLS
    blocks = 2 * ABBA_ROUNDS + MAX_REPEATS
    return pilot + max(MIN_CALLS * blocks, min(MAX_CALLS * blocks, _TOKENS_OF_INPUTS // length))


def _first_calls(timed: TimedInputs, count: int) -> TimedInputs:
    return replace(
        timed,
        q=timed.q[:count],
        token_index=timed.token_index[:count],
        page_ids=timed.page_ids[:count],
        slots=timed.slots[:count],
        tokens=timed.tokens[:count],
    )
