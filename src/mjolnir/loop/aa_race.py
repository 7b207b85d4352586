"""A/A: one kernel raced against itself, in the very form of a confirmation's rounds, and what follows from it."""

from __future__ import annotations

import random
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import mjolnir
from mjolnir.core.aa_bootstrap import expected_rates
from mjolnir.core.aa_noise import TOO_NOISY_SIGMA, Noise, Round, measure_noise
from mjolnir.core.calibration import Calibration
from mjolnir.core.lengths import join_labels, length_label
from mjolnir.core.model import Crashed, Tampered
from mjolnir.core.per_length import positive_number
from mjolnir.core.program_hash import program_hash
from mjolnir.errors import EnvironmentFault, MjolnirError
from mjolnir.loop.measure import SEED_BITS
from mjolnir.loop.surroundings import Surroundings
from mjolnir.targets.protocol import Entrant, KernelSource, Progress, RaceReport, RaceRequest, Target

STAGE = "calibrate"
ROLES = ("champion", "candidate")
BOOTSTRAP_SEED = 1
"""Always the same: one set of rounds has one set of rates."""

Blame = Callable[[Crashed | Tampered], MjolnirError]


@dataclass(frozen=True, slots=True, kw_only=True)
class AaTerms:
    """Under which terms a kernel is raced against itself: those of the run. `runs`: how many races."""

    runs: int
    target: str
    lengths: tuple[int, ...]
    min_gain: float
    worker_pairs: int
    time_limit_s: float
    harness_hash: str
    config_hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Raced:
    """The raw rounds, {L: (champion_us, candidate_us)}, with the device's fingerprint and remarks."""

    kernel: KernelSource
    terms: AaTerms
    device: dict[str, Any]
    rounds: tuple[Round, ...]
    notes: tuple[str, ...] = field(default=())


def race_itself(device: Target, kernel: KernelSource, terms: AaTerms, around: Surroundings, blame: Blame) -> Raced:
    """Race `kernel` against itself `terms.runs` times, each leg in fresh workers, the order turned from race to race.

    To be called under the device's lock. A race on a busy machine is run once more; the second one counts, with a note.
    Raises EnvironmentFault where nothing can be measured, and what `blame` makes of a kernel that fails.
    """
    rounds: list[Round] = []
    notes: list[str] = []
    for number in range(1, terms.runs + 1):
        entrants = tuple(Entrant(role=role, kernel=kernel) for role in (ROLES if number % 2 else reversed(ROLES)))
        name = f"race {number} of {terms.runs}"
        report = _race(device, entrants, terms, _told(around, name, number, terms.runs), blame)
        if report.unsteady:
            around.notice(f"calibration: {name} was not steady ({report.unsteady}): measured again")
            report = _race(device, entrants, terms, _told(around, name, number, terms.runs), blame)
        if report.unsteady:
            notes.append(f"{name} was not steady twice and counts all the same: {report.unsteady}")
            around.notice(f"calibration: {notes[-1]}")
        champion_us, candidate_us = (report.times_us[role] for role in ROLES)
        rounds.append({tokens: (champion_us[tokens], candidate_us[tokens]) for tokens in terms.lengths})
    return Raced(kernel=kernel, terms=terms, device=device.fingerprint(), rounds=tuple(rounds), notes=tuple(notes))


def conclude(raced: Raced, around: Surroundings, *, is_strict: bool = False) -> Calibration:
    """What the rounds say; a few seconds of work that need no device.

    Raises EnvironmentFault E_NOISE when `is_strict` and an L scatters by more than 15 %.
    """
    noise, terms, now = measure_noise(raced.rounds), raced.terms, around.now()
    if is_strict:
        require_quiet(noise)
    around.observe(Progress(stage="rates", detail="both keep rules on this noise", done=0, total=1))
    rates = expected_rates(
        noise, min_gain=terms.min_gain, worker_pairs=terms.worker_pairs, rng=random.Random(BOOTSTRAP_SEED)
    )
    return Calibration(
        id=f"{now:%Y%m%dT%H%M%S}-{now.microsecond:06d}",
        utc=now.isoformat(timespec="seconds"),
        mjolnir=mjolnir.__version__,
        harness_hash=terms.harness_hash,
        config_hash=terms.config_hash,
        target=terms.target,
        device=raced.device,
        commit=raced.kernel.origin,
        kernel=program_hash(raced.kernel.blob),
        worker_pairs=terms.worker_pairs,
        min_gain=terms.min_gain,
        rounds=raced.rounds,
        noise=noise,
        rates=rates,
        notes=raced.notes,
    )


def require_quiet(noise: Noise) -> None:
    """Raises EnvironmentFault E_NOISE where an L scatters so much that no number means anything."""
    if noise.too_noisy_lengths:
        modes = [noise.bimodal[tokens] for tokens in noise.too_noisy_lengths if tokens in noise.bimodal]
        speeds = f" (two speeds, {modes[0].slow:.2f} times apart: some processes are slow for life)" if modes else ""
        raise EnvironmentFault(
            "E_NOISE",
            f"one kernel against itself scatters by {sigma_words(noise, noise.too_noisy_lengths)} here{speeds}, "
            f"more than {TOO_NOISY_SIGMA * 100:g} %: nothing measured on this device would mean much",
            "look for other load (mjolnir doctor), clocks that change (power mode, frequency scaling) and heat, "
            "then run it again",
        )


def sigma_words(noise: Noise, lengths: Sequence[int]) -> str:
    """Sigma of some L, for a message: "22 % at 4K, 17 % at 16K"."""
    return ", ".join(f"{noise.sigma[tokens] * 100:.2g} % at {length_label(tokens)}" for tokens in lengths)


def _race(
    device: Target, entrants: Sequence[Entrant], terms: AaTerms, around: Surroundings, blame: Blame
) -> RaceReport:
    request = RaceRequest(
        seed=secrets.randbits(SEED_BITS), lengths=terms.lengths, worker_sets=1, time_limit_s=terms.time_limit_s
    )
    report = device.race(entrants, request, around.observe)
    if report.failure is not None:
        raise blame(report.failure)
    for role in ROLES:
        bad = [n for n in terms.lengths if positive_number(report.times_us.get(role, {}).get(n)) is None]
        if bad:
            what = f"the target {terms.target} gave no time of one kernel at L={join_labels(bad)}"
            raise EnvironmentFault("E_TARGET", what, "mjolnir doctor")
    return report


def _told(around: Surroundings, name: str, number: int, total: int) -> Surroundings:
    """`around` with the steps inside a race told as steps of the calibration. Says at once that the race begins."""

    def observe(step: Progress) -> None:
        detail = f"{name}: {step.detail}" if step.detail else name
        around.observe(Progress(stage=STAGE, detail=detail, done=number - 1, total=total))

    around.observe(Progress(stage=STAGE, detail=name, done=number - 1, total=total))
    return replace(around, observe=observe)
