"""One L on one set of workers: the legs take their turns in palindromes, and only the leg under the clock may run."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from mjolnir.core.workload import PagedDecode
from mjolnir.oracle.timed import extend_timed, timed_inputs
from mjolnir.targets.cpu_clock import MAX_REPEATS, MIN_CALLS, PALINDROMES, PASSES, Block, block_calls, most_block_calls
from mjolnir.targets.cpu_leg import Leg
from mjolnir.targets.cpu_timed_leg import TimedLeg
from mjolnir.targets.cpu_verify import failed_leg, verify_legs
from mjolnir.targets.cpu_workers import LegFailure

WARM_CALLS = 8
SLOW_CALL_S = 0.05
"""A call that takes this long needs no second warm-up."""
_TOKENS_OF_INPUTS = 1 << 21
"""Bound on the timed inputs of one L: as many calls as attend to this many tokens, if that is enough for all blocks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnsPlan:
    """What is the same for every L and set. `everyone`: the legs of all sets; `deadline` on time.monotonic()."""

    workload: PagedDecode
    everyone: tuple[Leg, ...]
    iters: int | None
    deadline: float
    stage: str


@dataclass(slots=True)
class Turns:
    """What one L on one set gave. `blocks`: none when a call failed. `idle_cpu_s`:
    {role of a kernel: CPU time while it was not called}."""

    blocks: list[Block] = field(default_factory=list)
    disturbed: int = 0
    idle_cpu_s: dict[str, float] = field(default_factory=dict)
    failure: LegFailure | None = None


def take_turns(plan: TurnsPlan, legs: Sequence[Leg], length: int, seed: Sequence[int]) -> Turns:
    """Time `legs` in their order, then verify every answer. Raises EnvironmentFault when the reference fails.

    `seed` draws the timed inputs, which every leg sees alike, and how many calls a block of each leg has.
    """
    rng = np.random.default_rng(list(seed))
    timed = timed_inputs(plan.workload, length, 1 + WARM_CALLS, rng)
    timing = _Timing(plan, [TimedLeg(leg, timed) for leg in legs], length, random.Random(str(seed)), rng)
    timing.turns.failure = timing.run()
    return timing.turns


class _Timing:
    def __init__(
        self,
        plan: TurnsPlan,
        legs: Sequence[TimedLeg],
        length: int,
        counts: random.Random,
        inputs: np.random.Generator,
    ) -> None:
        self.plan = plan
        self.legs = legs
        self.length = length
        self.counts = counts
        self.inputs = inputs
        self.turns = Turns()

    def run(self) -> LegFailure | None:
        calls = {}
        most = most_calls(self.length, self.plan.iters)
        for leg in self.legs:
            self._give_core_to(leg)
            call_s = self._pilot(leg)
            if call_s is None:
                return self._failed(leg)
            count = block_calls(call_s, self.plan.iters, self.counts)
            calls[leg.leg.role] = min(count, (most - leg.used) // PASSES)
        self._draw_inputs(1 + WARM_CALLS + max(calls.values()) * (PASSES + MAX_REPEATS), most)
        blocks = self._blocks(calls)
        for leg in self.legs:
            leg.leg.worker.pause()
        failed = next((leg for leg in self.legs if leg.failure is not None), None)
        if failed is not None:
            return self._failed(failed)
        self.turns.blocks = blocks
        self.turns.idle_cpu_s = {leg.leg.role: leg.idle_cpu_s for leg in self.legs if not leg.leg.is_reference}
        return verify_legs(self.legs, self.length)

    def _draw_inputs(self, wanted: int, most: int) -> None:
        """The inputs of all blocks, now that it is known how many calls they take: drawing many costs seconds."""
        timed = extend_timed(self.legs[0].timed, min(wanted, most), self.inputs)
        for leg in self.legs:
            leg.timed = timed

    def _give_core_to(self, leg: TimedLeg) -> None:
        """Only the leg under the clock may run: a thread of a kernel cannot take the core from another leg."""
        for other in self.plan.everyone:
            if other is not leg.leg:
                other.worker.pause()
        leg.leg.worker.resume()

    def _pilot(self, leg: TimedLeg) -> float | None:
        """Untimed calls: compiling and first touches, then an estimate of one call in seconds; None: it failed."""
        first = leg.block(1, self.plan.deadline) if leg.put(self.plan.deadline) else None
        if first is None:
            return None
        next_block = leg.block(1 if first.mean_us > 1e6 * SLOW_CALL_S else WARM_CALLS, self.plan.deadline)
        return None if next_block is None else 1e-6 * next_block.mean_us

    def _blocks(self, calls: dict[str, int]) -> list[Block]:
        """The legs in their order and back, PALINDROMES times; a disturbed block is measured again."""
        blocks: list[Block] = []
        order = (*self.legs, *reversed(self.legs)) * PALINDROMES
        repeats = MAX_REPEATS
        for number, leg in enumerate(order):
            count = calls[leg.leg.role]
            needed = count * (1 + sum(later is leg for later in order[number + 1 :]))
            self._give_core_to(leg)
            block = leg.block(count, self.plan.deadline)
            while block is not None and block.is_disturbed and repeats > 0 and leg.left >= needed:
                repeats -= 1
                block = leg.block(count, self.plan.deadline)
            if block is None:
                break
            self.turns.disturbed += block.is_disturbed
            blocks.append(block)
        return blocks

    def _failed(self, leg: TimedLeg) -> LegFailure:
        return failed_leg(leg, self.length, stage=self.plan.stage)


def most_calls(length: int, iters: int | None = None) -> int:
    """How many timed inputs to draw for one L: enough for all blocks and some repeats, bounded for long ones.

    `iters` as in RaceRequest: few calls need few inputs, and drawing them takes time.
    """
    pilot = 1 + WARM_CALLS
    blocks = PASSES + MAX_REPEATS
    most = most_block_calls(iters)
    return pilot + max(MIN_CALLS * blocks, min(most * blocks, _TOKENS_OF_INPUTS // length))
