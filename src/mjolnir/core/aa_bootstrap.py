"""How often the keep rules pass a no-op on this device, and how often they keep a true gain: a smoothed bootstrap.

A draw is one A/A round, taken whole (what its L have in common stays), with a sign by chance (neither side is the
faster one), plus Student t noise (5 degrees of freedom) of each L's own sigma times a bandwidth 1.06 n^(-1/5) of the
n rounds (B. W. Silverman, Density Estimation, 1986, 3.4.2). The bandwidth widens the noise: 4 rounds by about a
quarter, 12 by a fifth, 1000 by 3 %, so that few rounds give no false certainty.

Taken for granted: rounds do not depend on one another; the reference is as noisy as the kernel, and its drift between
runs is not simulated, so no L is set aside; the champion's own row is an ordinary measurement. An evaluation then shows
ln(speedup) = the mean of `worker_pairs` draws, the champion's row another such mean, and each round of a confirmation
one draw. The rules themselves are the real ones: judge, screen and decide.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mjolnir.core.aa_noise import Noise
from mjolnir.core.confirm import decide, screen
from mjolnir.core.judge import judge
from mjolnir.core.model import Status
from mjolnir.core.rule_names import CONFIRMED, SEED
from mjolnir.core.share import Share, wilson_share

GAINS = (0.02, 0.03, 0.05)
"""True gains whose chance is told (0.02: 2 % faster); twice the run's own min_gain comes beside them."""
NO_OPS = 8000
CHANGES = 2000
DEGREES_OF_FREEDOM = 5
BANDWIDTH = 1.06


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleRates:
    """What one keep rule does here. `no_op`: the share of no-ops that are kept; `power`: {true gain, a ratio minus 1:
    the share that is kept}, ascending."""

    no_op: Share
    power: Mapping[float, Share]


def expected_rates(
    noise: Noise,
    *,
    min_gain: float,
    worker_pairs: int,
    rng: random.Random,
    no_ops: int = NO_OPS,
    changes: int = CHANGES,
) -> dict[str, RuleRates]:
    """The rates of both rules by name, `confirmed` first.

    min_gain      of the target, a ratio minus 1
    worker_pairs  pairs of fresh processes in one evaluation, 1 or more
    no_ops        trials of a program that changes nothing
    changes       trials of each true gain
    """
    trial = _Trial(noise, min_gain, worker_pairs, rng)
    gains = sorted({*GAINS, 2 * min_gain} - {0.0})
    no_op = trial.repeat(0.0, no_ops)
    power = {gain: trial.repeat(math.log1p(gain), changes) for gain in gains}
    return {
        rule: RuleRates(no_op=no_op[rule], power={gain: found[rule] for gain, found in power.items()}) for rule in no_op
    }


class _Trial:
    """One idea with a known gain, tried under both rules on the same evaluation."""

    def __init__(self, noise: Noise, min_gain: float, worker_pairs: int, rng: random.Random) -> None:
        self._lengths = tuple(noise.sigma)
        self._logs = [tuple(x.values()) for x in noise.logs]
        # Student t with this many degrees of freedom has the variance n / (n - 2).
        scale = math.sqrt(1 - 2 / DEGREES_OF_FREEDOM) * BANDWIDTH * len(self._logs) ** -0.2
        self._widths = tuple(scale * sigma for sigma in noise.sigma.values())
        self._min_gain = min_gain
        self._se_floor = noise.se_floor
        self._worker_pairs = worker_pairs
        self._rng = rng
        ones = dict.fromkeys(self._lengths, 1.0)
        self._reference_us = ones
        self._best = self._row(ones)

    def repeat(self, gain: float, trials: int) -> dict[str, Share]:
        """How often each rule keeps a true `gain` (log scale)."""
        seed = confirmed = 0
        # Without any noise every trial ends alike.
        different = trials if any(self._widths) else 1
        for _ in range(different):
            row = self._row({n: math.exp(y) for n, y in zip(self._lengths, self._evaluation(gain), strict=True)})
            seed += judge(row, self._best, min_gain=self._min_gain).status is Status.KEEP
            confirmed += screen(row, self._best).status is None and self._is_confirmed(gain)
        hits = {CONFIRMED: confirmed, SEED: seed}
        return {rule: wilson_share(count * (trials // different), trials) for rule, count in hits.items()}

    def _is_confirmed(self, gain: float) -> bool:
        rounds: list[dict[int, tuple[float, float]]] = []
        while True:
            rounds.append({n: (math.exp(x + gain), 1.0) for n, x in zip(self._lengths, self._draw(), strict=True)})
            decision = decide(rounds, min_gain=self._min_gain, se_floor=self._se_floor)
            if not decision.more:
                return decision.status is Status.KEEP

    def _row(self, speedups: Mapping[int, float]) -> dict[str, Any]:
        return {"score": 1.0, "correctness": "pass", "per_L": speedups, "fi_us": self._reference_us}

    def _evaluation(self, gain: float) -> list[float]:
        """ln(row's speedup / champion's speedup) by L."""
        row, best = (self._mean_draw() for _ in range(2))
        return [x - y + gain for x, y in zip(row, best, strict=True)]

    def _mean_draw(self) -> list[float]:
        draws = [self._draw() for _ in range(self._worker_pairs)]
        return [sum(xs) / self._worker_pairs for xs in zip(*draws, strict=True)]

    def _draw(self) -> Sequence[float]:
        uniform = self._rng.random
        logs = self._logs[int(uniform() * len(self._logs))]
        sign = 1.0 if uniform() < 0.5 else -1.0
        return [sign * x + width * _student_t(uniform) for x, width in zip(logs, self._widths, strict=True)]


def _student_t(uniform: Any) -> float:
    """One draw, exactly (R. W. Bailey, Mathematics of Computation 62, 1994: Box and Muller's way for Student's t)."""
    spread = DEGREES_OF_FREEDOM * ((1.0 - uniform()) ** (-2 / DEGREES_OF_FREEDOM) - 1)
    return math.sqrt(spread) * math.cos(2 * math.pi * uniform())
