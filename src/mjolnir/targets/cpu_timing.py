"""All L on all sets of workers: what the clock found, whether to trust it, and its part of a run document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from mjolnir.core.lengths import length_label
from mjolnir.targets.cpu_clock import Block, diverged_blocks, leg_times_us
from mjolnir.targets.cpu_leg import Leg
from mjolnir.targets.cpu_timed_leg import MAX_IDLE_CPU_S
from mjolnir.targets.cpu_turns import TurnsPlan, take_turns
from mjolnir.targets.cpu_workers import LegFailure
from mjolnir.targets.protocol import Observe, Progress


@dataclass(slots=True)
class Timing:
    """What has been measured so far. `labels`: {role: its name for people}, in the order of turns; `blocks`: {L:
    [blocks of each set]}; `disturbed`: {L: blocks}; `idle_cpu_s`: {role: the most of one L}."""

    labels: dict[str, str]
    blocks: dict[int, list[list[Block]]]
    failure: LegFailure | None = None
    disturbed: dict[int, int] = field(default_factory=dict)
    idle_cpu_s: dict[str, float] = field(default_factory=dict)

    @property
    def roles(self) -> tuple[str, ...]:
        return tuple(self.labels)

    def times_us(self) -> dict[int, dict[str, float]]:
        """{L: {role: microseconds of one call}}, L ascending; empty when a leg failed."""
        if self.failure is not None:
            return {}
        return {length: leg_times_us(of_sets, self.roles) for length, of_sets in sorted(self.blocks.items())}

    def notes(self) -> tuple[str, ...]:
        """What a reader of the row should know of the machine's state; nothing on a quiet one."""
        disturbed = ", ".join(f"{length_label(n)} ({count})" for n, count in sorted(self.disturbed.items()))
        return (f"other load took CPU time from timed blocks at {disturbed}",) if disturbed else ()

    def unsteady(self) -> str:
        """Why these times are not to be trusted; empty: they are."""
        for role, idle_cpu_s in self.idle_cpu_s.items():
            if idle_cpu_s > MAX_IDLE_CPU_S:
                who = self.labels[role]
                return f"the {who}'s process worked {idle_cpu_s:.2f} s of CPU time while it was not called"
        for length, of_sets in sorted(self.blocks.items()):
            diverged = diverged_blocks(of_sets, self.roles)
            if diverged:
                label = length_label(length)
                return f"at {label} other load took the CPU from {diverged} timed blocks, and their ratios scatter"
        return ""

    def series(self) -> list[dict[str, Any]]:
        """The series of a run document: raw block means by L and set. total_us is None when a leg failed."""
        times_us = self.times_us()
        return [
            {"id": role, "label": label, "role": role, "points": self._points(role, times_us)}
            for role, label in self.labels.items()
        ]

    def _points(self, role: str, times_us: dict[int, dict[str, float]]) -> list[dict[str, Any]]:
        return [
            {
                "L": length,
                "total_us": times_us[length][role] if length in times_us else None,
                "blocks": [[_block_json(b) for b in of_set if b.role == role] for of_set in of_sets],
            }
            for length, of_sets in sorted(self.blocks.items())
        ]


def _block_json(block: Block) -> dict[str, Any]:
    return {"mean_us": block.mean_us, "calls": block.calls[1] - block.calls[0], "cpu_share": block.cpu_share}


def time_sets(
    sets: Sequence[Sequence[Leg]],
    lengths: Sequence[int],
    plan: TurnsPlan,
    timing: Timing,
    *,
    seed: int,
    observe: Observe,
    stage: str,
    set_word: str,
) -> None:
    """Fill `timing`: every L on every set, until a leg fails. `set_word`: what people call a set.

    Raises EnvironmentFault when the reference fails or is wrong.
    """
    steps = [(number, length) for number in range(len(sets)) for length in lengths]
    for step, (number, length) in enumerate(steps):
        detail = f"L={length_label(length)}, worker {set_word} {number + 1} of {len(sets)}"
        observe(Progress(stage=stage, detail=detail, done=step, total=len(steps)))
        turns = take_turns(plan, sets[number], length, [seed, number, length])
        if turns.disturbed:
            timing.disturbed[length] = timing.disturbed.get(length, 0) + turns.disturbed
        if turns.blocks:
            timing.blocks[length].append(turns.blocks)
        for role, idle_cpu_s in turns.idle_cpu_s.items():
            timing.idle_cpu_s[role] = max(timing.idle_cpu_s.get(role, 0.0), idle_cpu_s)
        timing.failure = turns.failure
        if timing.failure is not None:
            return
    observe(Progress(stage=stage, detail="done", done=len(steps), total=len(steps)))
