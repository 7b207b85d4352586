"""Every figure of a keep rule at one noise: many trials, a share or a mean, a 95 % interval."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from judge_model import DEFAULT, NO_CHANGE, Device, Idea, Noise, RuleOfRun, Tried

from mjolnir.core.model import Status

Z = 1.959964
"""Of a two-sided 95 % interval."""
Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """Trials a figure. A chain is `late` no-ops, each against the champion that the one before left.

    chains_elsewhere  chains at another noise than the default
    repeats           tries of a true gain on each champion of a chain
    """

    no_ops: int
    changes: int
    harmful: int
    chains: int
    chains_elsewhere: int
    repeats: int = 4
    early: int = 100
    middle: int = 200
    late: int = 500


FULL = Counts(no_ops=20_000, changes=10_000, harmful=50_000, chains=1000, chains_elsewhere=200)
QUICK = Counts(no_ops=40, changes=40, harmful=40, chains=4, chains_elsewhere=2, repeats=2, early=4, middle=6, late=8)


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A figure with its 95 % interval, in the figure's unit."""

    value: float
    low: float
    high: float
    trials: int


def wilson(hits: int, trials: int) -> Estimate:
    """A share in percent with Wilson's score interval. Raises ValueError for counts that are none."""
    if not 0 <= hits <= trials or trials < 1:
        raise ValueError(f"{hits} of {trials} is no share")
    share, weight = hits / trials, Z * Z / trials
    centre = (share + weight / 2) / (1 + weight)
    half = Z * math.sqrt(share * (1 - share) / trials + weight / (4 * trials)) / (1 + weight)
    low, high = min(share, max(0.0, centre - half)), max(share, min(1.0, centre + half))
    return Estimate(value=100 * share, low=100 * low, high=100 * high, trials=trials)


def mean_of(values: Sequence[float]) -> Estimate:
    """A mean with its normal interval. Raises ValueError for fewer than two values."""
    if len(values) < 2:
        raise ValueError("a mean with an interval needs two values or more")
    value, half = float(np.mean(values)), Z * float(np.std(values, ddof=1)) / math.sqrt(len(values))
    return Estimate(value=value, low=value - half, high=value + half, trials=len(values))


def share(claims: Iterable[bool]) -> Estimate:
    found = list(claims)
    return wilson(sum(found), len(found))


@dataclass(frozen=True, slots=True, kw_only=True)
class Trials:
    """One rule at one noise. Each figure draws from a seed of its own, the same for every rule."""

    rule: RuleOfRun
    noise: Noise
    counts: Counts
    seed: int

    def figures(self) -> dict[str, Estimate]:
        """Every figure by its key."""
        counts = self.counts
        return {
            **self._no_ops(self._device(1)),
            **{f"gain_{n}": share(self._kept(self._device(2, n), n / 100, counts.changes)) for n in (1, 2, 3, 5)},
            "harmful": share(self._harmful(self._device(3))),
            "noisy": share(self._shifted(self._device(4))),
            **self._chains(),
            "gain_3_next": share(self._next(self._device(6), NO_CHANGE)),
            "gain_3_levelled": share(self._next(self._device(6), Idea(is_levelled=True))),
        }

    def _device(self, *figure: int) -> Device:
        return Device(self.noise, self.seed, *figure)

    def _try_all(self, device: Device, rows: Iterable[Row], bests: Iterable[Row], idea: Idea) -> list[Tried]:
        return [self.rule(device, row, best, idea) for row, best in zip(rows, bests, strict=True)]

    def _no_ops(self, device: Device) -> dict[str, Estimate]:
        count = self.counts.no_ops
        bests = device.runs(count)
        first = self._try_all(device, device.runs(count), bests, NO_CHANGE)
        again = self._try_all(device, device.runs(count), bests, Idea(attempt=2))
        return {
            "no_op": share(one.is_kept for one in first),
            "no_op_twice": share(one.is_kept or two.is_kept for one, two in zip(first, again, strict=True)),
            "leg_sweeps": mean_of([one.leg_sweeps for one in first]),
        }

    def _kept(self, device: Device, gain: float, count: int, bests: Sequence[Row] = ()) -> list[bool]:
        """Is a true `gain` (a ratio minus 1) kept, on the starting kernel or on given champions as fast as it?"""
        idea = Idea(gain=math.log1p(gain))
        bests = bests or device.runs(count)
        return [one.is_kept for one in self._try_all(device, device.runs(count, idea.gain), bests, idea)]

    def _harmful(self, device: Device) -> list[bool]:
        count = self.counts.harmful
        gains = np.log1p(-device.uniform(0.005, 0.08, count))
        ideas = zip(device.runs(count, gains), device.runs(count), gains.tolist(), strict=True)
        return [self.rule(device, row, best, Idea(gain=gain)).is_kept for row, best, gain in ideas]

    def _shifted(self, device: Device) -> list[bool]:
        count = self.counts.no_ops
        shift = np.log1p(np.where(np.arange(count) % 2 == 0, 0.15, -0.15))
        tries = self._try_all(device, device.runs(count, shift=shift), device.runs(count), NO_CHANGE)
        return [one.status is Status.NOISY for one in tries]

    def _chains(self) -> dict[str, Estimate]:
        """What no-ops do to the record, and to the chance of a true gain after them."""
        counts, device = self.counts, self._device(5)
        chains = counts.chains if self.noise is DEFAULT else counts.chains_elsewhere
        start = bests = device.runs(chains)
        after = {}
        for step in range(1, counts.late + 1):
            tries = self._try_all(device, device.runs(chains), bests, NO_CHANGE)
            bests = [one.row if one.is_kept else best for one, best in zip(tries, bests, strict=True)]
            after[step] = bests
        count = chains * counts.repeats
        then, now = (
            self._kept(self._device(5, 1), 0.03, count, champions * counts.repeats)
            for champions in (start, after[counts.middle])
        )
        return {
            "best_early": mean_of(_too_high(start, after[counts.early])),
            "best_late": mean_of(_too_high(start, after[counts.late])),
            "power_lost": mean_of([100.0 * (was - still) for was, still in zip(then, now, strict=True)]),
        }

    def _next(self, device: Device, idea: Idea) -> list[bool]:
        """Is a true +3 % kept on a champion whose own row is that of a keep (a true +5 %)?"""
        first = replace(idea, gain=math.log1p(0.05))
        count = self.counts.changes
        tries = self._try_all(device, device.runs(count, first.gain), device.runs(count), first)
        bests = [one.row for one in tries if one.is_kept]
        second = replace(first, gain=first.gain + math.log1p(0.03), champion_gain=first.gain)
        rows = device.runs(len(bests), second.gain)
        return [one.is_kept for one in self._try_all(device, rows, bests, second)]


def _too_high(start: Iterable[Row], champions: Iterable[Row]) -> list[float]:
    """By how much the recorded score grew in each chain, in percent. Nothing truly changed."""
    return [100 * (late["score"] / early["score"] - 1) for early, late in zip(start, champions, strict=True)]
