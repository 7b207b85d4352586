"""What a program timed against itself says about a device: the truth is that nothing changed, the rest is noise.

All spreads are of x = ln(champion's time / candidate's time) and about zero, not about their own mean: the true mean is
known. So 0.02 is about 2 %.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from mjolnir.core.confirm import trim
from mjolnir.core.modes import Modes, find_modes
from mjolnir.core.per_length import positive_number
from mjolnir.core.stats import mean

LEAST_ROUNDS = 2
LEAST_SE = 0.002
"""The standard error of a confirmation is never taken to be less: log scale."""
NOISY_SIGMA = 0.05
"""Above this an L is noisy: the standard error is then taken from every L, with nothing left out."""
TOO_NOISY_SIGMA = 0.15
"""Above this an L says nothing, and a run on this device would mean nothing."""
ROUNDS_OF_A_CONFIRMATION = 2

Round = Mapping[int, tuple[float, float]]
"""{L in tokens: (champion's time, candidate's time)} of one round, in one unit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """The noise of a device under the very form of a confirmation.

    logs     x of each round by L, in measuring order
    sigma    {L: root mean square of x}; of one round with fresh processes on both sides
    bimodal  {L: its two speeds}, for those L that have two
    sd_m     root mean square of the rounds' trimmed means over L
    se_floor what the standard error of a confirmation is taken to be at least
    """

    logs: tuple[Mapping[int, float], ...]
    sigma: Mapping[int, float]
    bimodal: Mapping[int, Modes]
    sd_m: float
    se_floor: float

    @property
    def noisy_lengths(self) -> tuple[int, ...]:
        """The L with a sigma of 5 to 15 %, ascending: a warning, and they raise `se_floor`."""
        return tuple(n for n, sigma in self.sigma.items() if NOISY_SIGMA < sigma <= TOO_NOISY_SIGMA)

    @property
    def too_noisy_lengths(self) -> tuple[int, ...]:
        """The L with a sigma above 15 %, ascending: `init` refuses."""
        return tuple(n for n, sigma in self.sigma.items() if sigma > TOO_NOISY_SIGMA)


def measure_noise(rounds: Sequence[Round]) -> Noise:
    """The noise that `rounds` of one program against itself show.

    Raises ValueError for fewer than two rounds, rounds of different L, and times that are not finite and positive.
    """
    if len(rounds) < LEAST_ROUNDS:
        raise ValueError(f"{len(rounds)} rounds: a spread needs {LEAST_ROUNDS} or more")
    lengths = tuple(sorted(rounds[0]))
    if not lengths or any(set(pairs) != set(lengths) for pairs in rounds):
        raise ValueError("the rounds have different lengths, or none")
    logs = tuple({tokens: _log_ratio(pairs[tokens]) for tokens in lengths} for pairs in rounds)
    sigma = {tokens: _root_mean_square(x[tokens] for x in logs) for tokens in lengths}
    sd_m = _root_mean_square(trim(x.values()) for x in logs)
    modes = {tokens: find_modes([pairs[tokens] for pairs in rounds]) for tokens in lengths}
    return Noise(
        logs=logs,
        sigma=sigma,
        bimodal={tokens: found for tokens, found in modes.items() if found is not None},
        sd_m=sd_m,
        se_floor=_se_floor(sigma, sd_m),
    )


def _log_ratio(pair: Sequence[float]) -> float:
    champion, candidate = (positive_number(time) for time in pair)
    if champion is None or candidate is None:
        raise ValueError("a time is not finite and positive")
    return math.log(champion) - math.log(candidate)


def _root_mean_square(values: Iterable[float]) -> float:
    return math.sqrt(mean(x * x for x in values))


def _se_floor(sigma: Mapping[int, float], sd_m: float) -> float:
    """Of the mean of two rounds. Where an L is noisy, also what all L together give without any being left out."""
    scatter = [sd_m]
    if any(x > NOISY_SIGMA for x in sigma.values()):
        scatter.append(math.sqrt(math.fsum(x * x for x in sigma.values())) / len(sigma))
    return max(LEAST_SE, max(scatter) / math.sqrt(ROUNDS_OF_A_CONFIRMATION))
