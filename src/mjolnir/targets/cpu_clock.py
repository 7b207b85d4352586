"""From blocks of timed calls to one ratio an L: plain block means, legs in ABBA order, a trimmed mean of log ratios."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass

from mjolnir.core.model import Measurement
from mjolnir.core.stats import mean, stdev, trimmed_mean

BLOCK_S = 0.12
"""Wanted length of a block. Shorter ones scatter more, longer ones catch more of the machine's slow drift."""
ABBA_ROUNDS = 2
"""reference candidate candidate reference, twice: a drift that is linear in time cancels."""
MIN_CALLS, MAX_CALLS = 2, 192
WITNESS_SHARE = 0.85
"""A block whose worker had the CPU for less than this share of the wall clock was disturbed, and is measured again."""
DIVERGED_SHARE = 0.7
"""Below this share wall clock and witness tell different stories."""
SCATTER_LIMIT = 0.10
"""Standard deviation of log(reference / candidate) between neighbouring blocks of one L: with diverged clocks and more
scatter than this, the L decides nothing. Time slices that hit both legs alike cancel, and stay below it."""
MAX_REPEATS = 4
"""At most so many an L and pair: on a machine that stays busy the run ends, and is called noisy."""


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
    return max(MIN_CALLS, min(MAX_CALLS, round(wanted * rng.uniform(0.85, 1.15))))


def summarise(length_tokens: int, blocks: Sequence[Sequence[Block]]) -> Measurement:
    """One L from the blocks of every worker pair (each: reference, candidate, candidate, reference, ...).

    The ratio is the exponential of the trimmed mean of log(reference / candidate) over neighbouring blocks of all
    pairs; reference_us is the geomean of the reference's blocks, and candidate_us = reference_us / ratio.
    """
    references = [math.log(b.mean_us) for of_pair in blocks for b in of_pair if b.role == "reference"]
    reference_us = math.exp(mean(references))
    return Measurement(
        length_tokens=length_tokens,
        reference_us=reference_us,
        candidate_us=reference_us / math.exp(trimmed_mean(log_ratios(blocks))),
    )


def log_ratios(blocks: Sequence[Sequence[Block]]) -> list[float]:
    """log(reference / candidate) of each two neighbouring blocks of every pair."""
    logs = []
    for of_pair in blocks:
        for first, second in zip(of_pair[0::2], of_pair[1::2], strict=True):
            by_role = {first.role: first.mean_us, second.role: second.mean_us}
            logs.append(math.log(by_role["reference"] / by_role["candidate"]))
    return logs


def diverged_blocks(blocks: Sequence[Sequence[Block]]) -> int:
    """How many blocks of one L cannot be trusted: 0 unless most have diverged and their ratios scatter."""
    diverged = sum(b.has_diverged for of_pair in blocks for b in of_pair)
    is_most = diverged * 2 > sum(len(of_pair) for of_pair in blocks)
    return diverged if is_most and stdev(log_ratios(blocks)) > SCATTER_LIMIT else 0
