"""From blocks of timed calls to one time a leg and L: plain block means, legs in palindromes, trimmed log ratios."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass

from mjolnir.core.stats import geomean, stdev, trimmed_mean

BLOCK_S = 0.12
"""Wanted length of a block. Shorter ones scatter more, longer ones catch more of the machine's slow drift."""
PALINDROMES = 2
"""A B B A, or A B C C B A, twice: a drift that is linear in time cancels."""
PASSES = 2 * PALINDROMES
"""Blocks of each leg: a pass has one of every leg."""
MIN_CALLS, MAX_CALLS = 2, 192
_MOST_SHARE = 1.15
"""A block has up to so many times the wanted calls, or as many fewer: nobody can foresee its last call."""
WITNESS_SHARE = 0.85
"""A block whose worker had the CPU for less than this share of the wall clock was disturbed, and is measured again."""
DIVERGED_SHARE = 0.7
"""Below this share wall clock and witness tell different stories."""
SCATTER_LIMIT = 0.10
"""Standard deviation of log(first leg / other leg) between neighbouring blocks of one L: with diverged clocks and more
scatter than this, the L decides nothing. Time slices that hit all legs alike cancel, and stay below it."""
MAX_REPEATS = 4
"""At most so many an L and worker set: on a machine that stays busy the run ends, and is called noisy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Some calls of one leg: `mean_us` of one call by the parent's clock; `cpu_share` of that time the worker had a
    CPU (None: unknown); `calls` are the numbers of the timed inputs it used."""

    role: str
    mean_us: float
    cpu_share: float | None
    calls: tuple[int, int]

    @property
    def is_disturbed(self) -> bool:
        return self.cpu_share is not None and self.cpu_share < WITNESS_SHARE

    @property
    def has_diverged(self) -> bool:
        return self.cpu_share is not None and self.cpu_share < DIVERGED_SHARE


def block_calls(call_s: float, iters: int | None, rng: random.Random) -> int:
    """Calls of a block: `iters`, else enough for BLOCK_S by the pilot's time; a few more or fewer, at random."""
    wanted = iters or BLOCK_S / max(call_s, 1e-7)
    return max(MIN_CALLS, min(MAX_CALLS, round(wanted * rng.uniform(2 - _MOST_SHARE, _MOST_SHARE))))


def most_block_calls(iters: int | None) -> int:
    """The largest answer of `block_calls`, whatever the pilot's time."""
    return max(MIN_CALLS, min(MAX_CALLS, math.ceil(iters * _MOST_SHARE))) if iters else MAX_CALLS


def leg_times_us(blocks: Sequence[Sequence[Block]], roles: Sequence[str]) -> dict[str, float]:
    """{role: microseconds of one call} at one L, from the blocks of every worker set; `roles` in the order of turns.

    The first leg's time is the geomean of its blocks. Every other's is that over the exponential of the trimmed mean of
    log(first / other) over the passes of all sets.
    """
    first, *others = roles
    first_us = geomean(b.mean_us for of_set in blocks for b in of_set if b.role == first)
    logs = {role: trimmed_mean(log_ratios(blocks, roles, role)) for role in others}
    return {first: first_us, **{role: first_us / math.exp(log) for role, log in logs.items()}}


def log_ratios(blocks: Sequence[Sequence[Block]], roles: Sequence[str], role: str) -> list[float]:
    """log(first leg / leg `role`) of each pass of every set: as many neighbouring blocks as there are legs."""
    logs = []
    for of_set in blocks:
        for start in range(0, len(of_set), len(roles)):
            by_role = {b.role: b.mean_us for b in of_set[start : start + len(roles)]}
            logs.append(math.log(by_role[roles[0]] / by_role[role]))
    return logs


def diverged_blocks(blocks: Sequence[Sequence[Block]], roles: Sequence[str]) -> int:
    """How many blocks of one L cannot be trusted: 0 unless most have diverged and their ratios scatter."""
    diverged = sum(b.has_diverged for of_set in blocks for b in of_set)
    if diverged * 2 <= sum(len(of_set) for of_set in blocks):
        return 0
    scatter = max(stdev(log_ratios(blocks, roles, role)) for role in roles[1:])
    return diverged if scatter > SCATTER_LIMIT else 0
