"""Made-up measurements with the noise of a real device, decided by the real rules.

What the noise is: docs/keep-rule.md. Everything here is on the log scale: 0.02 is about 2 %. The measurements are drawn
with numpy; each verdict comes from `judge`, or from `screen` and `decide`, as the tool itself would call them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mjolnir.core.confirm import decide, screen
from mjolnir.core.judge import judge
from mjolnir.core.model import Status

LENGTHS = (128, 4096, 8192, 16384, 32768, 65536, 131072, 262144)
KEYS = tuple(map(str, LENGTHS))
Array = NDArray[np.float64]
Round: TypeAlias = Mapping[int, tuple[float, float]]
"""{L: (champion's time, candidate's time)}."""
TRUE_US = 100.0
"""What every leg truly takes at every L. Only ratios are judged, so one number serves for all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """Standard deviations on the log scale, and probabilities a leg and L.

    cv             of the ratio of two processes, by L; a leg has 1 / sqrt 2 of it
    freedom        of Student's t, scaled to unit variance; None: gaussian
    drift          of a whole run, or of a confirmation round: all its legs alike
    common         reference against kernel in an ordinary run, all L alike (0.4 % and 0.3 %, independent)
    outlier_...    +5 to +100 %, log-uniform: reference at the longest L, reference elsewhere, kernel
    slow_mode      how much slower the kernel is at 16K in every second process
    """

    name: str
    cv: tuple[float, ...] = (0.0125, 0.010, 0.008, 0.013, 0.006, 0.0125, 0.016, 0.026)
    freedom: int | None = 5
    drift: float = 0.04
    common: float = math.hypot(0.004, 0.003)
    outlier_reference_longest: float = 0.015
    outlier_reference: float = 0.002
    outlier_kernel: float = 0.0015
    slow_mode: float = math.log(1.163)


DEFAULT = Noise(name="default")
QUIET = replace(
    DEFAULT,
    name="quiet",
    freedom=None,
    common=0.0,
    outlier_reference_longest=0.0,
    outlier_reference=0.0,
    outlier_kernel=0.0,
    slow_mode=0.0,
)
SHARED_GPU = replace(
    DEFAULT,
    name="shared GPU",
    cv=tuple(2.4 * x for x in DEFAULT.cv),
    drift=0.07,
    common=2 * DEFAULT.common,
    outlier_reference_longest=3 * DEFAULT.outlier_reference_longest,
    outlier_reference=3 * DEFAULT.outlier_reference,
    outlier_kernel=3 * DEFAULT.outlier_kernel,
)
LEVELS = (DEFAULT, QUIET, SHARED_GPU)


class Device:
    """Draws measurements. The same seed gives the same ones."""

    def __init__(self, noise: Noise, *seed: int) -> None:
        self.noise = noise
        self._rng = np.random.default_rng(seed)
        self._drift = 0.0
        self._sigma = np.array(noise.cv) / math.sqrt(2)
        self._reference_outlier = np.full(len(LENGTHS), noise.outlier_reference)
        self._reference_outlier[-1] = noise.outlier_reference_longest

    def runs(self, count: int, gain: Array | float = 0.0, shift: Array | float = 0.0) -> list[dict[str, Any]]:
        """`count` ordinary runs of kernels that are `gain` faster (log; scalar, or one a run), as rows of a ledger.

        `shift` is added to the log time of both legs.
        """
        drift = self._rng.normal(0.0, self.noise.drift, (count, 1)) + _column(shift)
        reference = self._reference(count) + drift
        kernel = self._kernel(count) + drift - _column(gain)
        return [_row(*legs) for legs in zip(np.exp(reference) * TRUE_US, np.exp(kernel) * TRUE_US, strict=True)]

    def round(self, gain: float, champion_gain: float) -> Round:
        """One round of a confirmation: {L: (champion's time, candidate's time)}."""
        self._drift = self._rng.normal(0.0, self.noise.drift)
        champion, candidate = np.exp(self._kernel(2) + self._drift - [[champion_gain], [gain]]) * TRUE_US
        return dict(zip(LENGTHS, zip(champion.tolist(), candidate.tolist(), strict=True), strict=True))

    def confirmed_row(self, rounds: Sequence[Round], *, is_levelled: bool) -> dict[str, Any]:
        """The row of a keep after `round`: the reference timed once more, under the drift of the last round; the
        candidate's time is the geomean of its rounds, each under a drift of its own.

        is_levelled  the reference is brought to the level of all rounds first: by what both kernels together moved
                     from each round to the last, at the middle L
        """
        reference = self._reference(1)[0] + self._drift
        if is_levelled:
            reference = reference - np.mean([_moved(one, rounds[-1]) for one in rounds])
        candidate = np.exp([np.mean([math.log(one[n][1]) for one in rounds]) for n in LENGTHS])
        return _row(np.exp(reference) * TRUE_US, candidate)

    def uniform(self, low: float, high: float, count: int) -> Array:
        return self._rng.uniform(low, high, count)

    def _reference(self, count: int) -> Array:
        """Log times of the reference in `count` runs, with what moves it against the kernel of the same run."""
        return self._process(count, self._reference_outlier) + self._rng.normal(0.0, self.noise.common, (count, 1))

    def _kernel(self, count: int) -> Array:
        log_times = self._process(count, self.noise.outlier_kernel)
        log_times[:, LENGTHS.index(16384)] += self._rng.integers(0, 2, count) * self.noise.slow_mode
        return log_times

    def _process(self, count: int, outlier: Array | float) -> Array:
        """Log times of one leg in `count` fresh processes, around 0."""
        shape = (count, len(LENGTHS))
        freedom = self.noise.freedom
        if freedom is None:
            scatter = self._rng.standard_normal(shape)
        else:
            scatter = self._rng.standard_t(freedom, shape) * math.sqrt((freedom - 2) / freedom)
        size = np.exp(self._rng.uniform(math.log(0.05), math.log(1.0), shape))
        return scatter * self._sigma + np.log1p(size) * (self._rng.random(shape) < outlier)


def _column(values: Array | float) -> Array:
    return np.reshape(np.asarray(values, dtype=np.float64), (-1, 1))


def _moved(one: Round, last: Round) -> float:
    return float(np.median([np.mean(np.log(np.divide(last[n], one[n]))) for n in LENGTHS]))


def _row(reference_us: Array, kernel_us: Array) -> dict[str, Any]:
    speedup = reference_us / kernel_us
    return {
        "score": float(np.exp(np.log(speedup).mean())),
        "correctness": "pass",
        "per_L": dict(zip(KEYS, speedup.tolist(), strict=True)),
        "fi_us": dict(zip(KEYS, reference_us.tolist(), strict=True)),
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """What one evaluation came to. `row`: what the ledger then holds; `leg_sweeps`: legs timed over all L."""

    status: Status
    row: Mapping[str, Any]
    leg_sweeps: int

    @property
    def is_kept(self) -> bool:
        return self.status is Status.KEEP


@dataclass(frozen=True, slots=True, kw_only=True)
class Idea:
    """A candidate's true gain and its champion's, both over the starting kernel, log scale."""

    gain: float = 0.0
    champion_gain: float = 0.0
    attempt: int = 1
    is_levelled: bool = False


RuleOfRun: TypeAlias = Callable[[Device, Mapping[str, Any], Mapping[str, Any], Idea], Tried]
NO_CHANGE = Idea()


def try_seed(device: Device, row: Mapping[str, Any], best: Mapping[str, Any], idea: Idea = NO_CHANGE) -> Tried:
    """The rule `seed`: one ordinary run, one verdict."""
    return Tried(status=judge(row, best).status, row=row, leg_sweeps=2)


def try_confirmed(device: Device, row: Mapping[str, Any], best: Mapping[str, Any], idea: Idea = NO_CHANGE) -> Tried:
    """The rule `confirmed`: what passes the screen is run beside the champion until `decide` has an answer."""
    status, leg_sweeps = screen(row, best).status, 2
    rounds: list[Round] = []
    while status is None:
        rounds.append(device.round(idea.gain, idea.champion_gain))
        status, leg_sweeps = decide(rounds, attempt=idea.attempt).status, leg_sweeps + 2
    if status is Status.KEEP:
        row, leg_sweeps = device.confirmed_row(rounds, is_levelled=idea.is_levelled), leg_sweeps + 1
    return Tried(status=status, row=row, leg_sweeps=leg_sweeps)


RULES: dict[str, RuleOfRun] = {"seed": try_seed, "confirmed": try_confirmed}
