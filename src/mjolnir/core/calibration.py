"""A calibration: the champion timed against itself on one device, and what that says about the keep rules there.

It is stored beside the ledger as one JSON object (`as_fact`). The raw times are the truth of it: sigma, modes and floor
are worked out from them anew when it is read.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mjolnir.core.aa_bootstrap import RuleRates
from mjolnir.core.aa_noise import LEAST_ROUNDS, Noise, Round, measure_noise
from mjolnir.core.lengths import parse_length
from mjolnir.core.per_length import positive_number
from mjolnir.core.rule_names import KEEP_RULES
from mjolnir.core.share import Share, read_share

SCHEMA = "mjolnir.calibrate/1"
_WORDS = ("id", "utc", "mjolnir", "harness_hash", "config_hash", "target", "commit", "kernel")


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """What `calibrate` found.

    id            sorts by time; `utc` is the ISO 8601 time
    mjolnir       the version that measured; harness_hash, config_hash as on a row
    device        the target's fingerprint
    commit        of the kernel; `kernel` is its program_hash
    worker_pairs  pairs of fresh processes in an evaluation, for the bootstrap; min_gain a ratio minus 1
    rounds        the raw times by round and L: (as champion, as candidate), microseconds; one program in both
    noise         what they say
    rates         {rule: how often it passes a no-op here, and keeps a true gain}
    """

    id: str
    utc: str
    mjolnir: str
    harness_hash: str
    config_hash: str
    target: str
    device: Mapping[str, Any]
    commit: str
    kernel: str
    worker_pairs: int
    min_gain: float
    rounds: tuple[Round, ...]
    noise: Noise
    rates: Mapping[str, RuleRates]
    notes: tuple[str, ...] = ()

    @property
    def runs(self) -> int:
        """How many rounds it has."""
        return len(self.rounds)

    @property
    def lengths(self) -> tuple[int, ...]:
        """In tokens, ascending."""
        return tuple(self.noise.sigma)

    @property
    def se_floor(self) -> float:
        """What the standard error of a confirmation is taken to be at least, log scale."""
        return self.noise.se_floor

    def no_op_rate(self, rule: str) -> Share:
        """How often the rule keeps a program that changes nothing. Raises KeyError for a rule that there is not."""
        return self.rates[rule].no_op


def no_op_sentence(calibration: Calibration, rule: str) -> str:
    """How often a no-op passes: a rate of this device, not the chance that one keep is luck.

    Where none passed, the end of the interval is told, rounded up. Raises KeyError for a rule that there is not.
    """
    share = calibration.no_op_rate(rule)
    if share.hits == 0:
        return f"a no-op passes in fewer than {_percent_above(share.high)} % of tries on this device"
    percent = 100 * share.value
    return f"a no-op passes in {percent:.{1 if percent >= 0.1 else 2}f} % of tries on this device"


def _percent_above(ratio: float) -> str:
    """0.00048 -> "0.1": never less than what it stands for."""
    return f"{math.ceil(round(1000 * ratio, 9)) / 10:g}"


def as_fact(calibration: Calibration) -> dict[str, Any]:
    """Plain JSON values. Keys of L are decimal strings."""
    noise = calibration.noise
    return {
        "schema": SCHEMA,
        **{name: getattr(calibration, name) for name in _WORDS},
        "device": dict(calibration.device),
        "lengths": list(calibration.lengths),
        "worker_pairs": calibration.worker_pairs,
        "min_gain": calibration.min_gain,
        "runs": calibration.runs,
        "rounds": [{str(n): list(pair) for n, pair in sorted(pairs.items())} for pairs in calibration.rounds],
        "sigma": {str(n): sigma for n, sigma in noise.sigma.items()},
        "bimodal": {str(n): modes.as_json() for n, modes in noise.bimodal.items()},
        "sd_m": noise.sd_m,
        "se_floor": noise.se_floor,
        "noisy_lengths": list(noise.noisy_lengths),
        "too_noisy_lengths": list(noise.too_noisy_lengths),
        "rates": {rule: _rates_as_json(rates) for rule, rates in calibration.rates.items()},
        "notes": list(calibration.notes),
    }


def hash_fact(fact: Mapping[str, Any]) -> str:
    """Lower-case hex sha256 of a fact in canonical JSON, as rows that were judged with it carry it."""
    text = json.dumps(fact, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def read_fact(fact: Mapping[str, Any]) -> Calibration:
    """What `as_fact` wrote; unknown keys are left alone. Raises ValueError that says what is wrong."""
    rounds = tuple(_read_round(pairs) for pairs in _sequence(fact, "rounds"))
    device, rates = _mapping(fact, "device"), _mapping(fact, "rates")
    if not rates.keys() >= set(KEEP_RULES):
        raise ValueError("rates lacks a keep rule")
    pairs, min_gain = fact.get("worker_pairs"), fact.get("min_gain")
    if type(pairs) is not int or pairs < 1:
        raise ValueError("worker_pairs is no whole number from 1 on")
    if min_gain != 0 and positive_number(min_gain) is None:
        raise ValueError("min_gain is no ratio")
    return Calibration(
        **{name: _word(fact, name) for name in _WORDS},
        device=dict(device),
        worker_pairs=pairs,
        min_gain=float(min_gain),  # type: ignore[arg-type]  # a number: looked at above
        rounds=rounds,
        noise=measure_noise(rounds),
        rates={str(rule): _read_rates(found) for rule, found in rates.items()},
        notes=tuple(str(note) for note in _sequence(fact, "notes")),
    )


def require_runs(runs: int, most: int) -> int:
    """`runs` unless it makes no sense. Raises ValueError."""
    if not LEAST_ROUNDS <= runs <= most:
        raise ValueError(f"{runs} runs: from {LEAST_ROUNDS} to {most} make sense")
    return runs


def _rates_as_json(rates: RuleRates) -> dict[str, Any]:
    return {"no_op": rates.no_op.as_json(), "power": {f"{gain:g}": x.as_json() for gain, x in rates.power.items()}}


def _read_rates(found: Any) -> RuleRates:
    if not isinstance(found, Mapping):
        raise ValueError("the rates of a rule are no mapping")
    power = {float(gain): read_share(share) for gain, share in _mapping(found, "power").items()}
    return RuleRates(no_op=read_share(found.get("no_op")), power=dict(sorted(power.items())))


def _read_round(pairs: Any) -> Round:
    if not isinstance(pairs, Mapping):
        raise ValueError("a round is no mapping of lengths")
    if not all(isinstance(pair, list | tuple) and len(pair) == 2 for pair in pairs.values()):
        raise ValueError("a round has two times an L")
    return {parse_length(key): (pair[0], pair[1]) for key, pair in pairs.items()}


def _word(fact: Mapping[str, Any], name: str) -> str:
    value = fact.get(name)
    if not isinstance(value, str):
        raise ValueError(f"{name} is missing")
    return value


def _mapping(fact: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = fact.get(name)
    if not isinstance(value, Mapping):
        raise ValueError(f"{name} is no mapping")
    return value


def _sequence(fact: Mapping[str, Any], name: str) -> Sequence[Any]:
    value = fact.get(name)
    if not isinstance(value, list | tuple):
        raise ValueError(f"{name} is no list")
    return value
