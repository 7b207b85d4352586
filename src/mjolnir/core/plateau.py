"""When the last experiments gained nothing that could be told from noise. Reads nothing itself."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from mjolnir.core.model import Experiment, Status
from mjolnir.core.per_length import positive_number, read_per_length
from mjolnir.core.progress import confirmed_log_gain
from mjolnir.core.stats import geomean

_LARGEST_GAIN = 1e300
"""Beyond it a ledger's number is no gain; NaN, inf and integers that no float holds fail the comparison too."""
NOISE_SIGMAS = 2.0
"""A gain of fewer standard deviations of a screening run is called noise: one in 44 no-ops shows more."""


def gain_over_champion(row: Experiment) -> float | None:
    """What a row gained over its champion by the best measurement that it holds, a ratio minus 1; None without any.

    That is the confirmation (confirm.m), else the screening run (screen.gain), else the geomean of vs_best over the L
    that were not set aside.
    """
    m = confirmed_log_gain(row)
    if m is not None:
        return math.expm1(m)
    gain = row.screen.get("gain") if isinstance(row.screen, Mapping) else None
    if isinstance(gain, int | float) and not isinstance(gain, bool) and abs(gain) < _LARGEST_GAIN:
        return float(gain)
    try:
        ratios = [x for tokens, x in read_per_length(row.vs_best, "vs_best").items() if tokens not in row.set_aside]
    except ValueError:
        return None
    return geomean(ratios) - 1 if ratios else None


def last_gains(rows: Sequence[Experiment], plateau: int) -> tuple[float, ...]:
    """The gains over the champion of the last `plateau` measured experiments, oldest first, ratios minus 1.

    Empty when there are fewer, or when a keep or the baseline stands among them. Crashes, wrong answers and noisy rows
    say nothing about gains and are passed over.
    """
    found: list[float] = []
    for row in reversed(rows):
        if len(found) == plateau or row.status in (Status.KEEP, Status.BASELINE):
            break
        gain = gain_over_champion(row) if row.status is Status.DISCARD else None
        if gain is not None:
            found.append(gain)
    return tuple(reversed(found)) if 0 < plateau == len(found) else ()


def is_inside_noise(gains: Sequence[float], noise: float) -> bool:
    """True when there are gains and none is above `noise` (ratios minus 1). A loss, however large, is no gain."""
    return bool(gains) and max(gains) <= noise


def plateau_sentence(
    rows: Sequence[Experiment], plateau: int | None, noise: float, *, is_calibrated: bool = True
) -> str:
    """One sentence when the last `plateau` measured experiments gained nothing beyond `noise`; empty when not.

    `rows` oldest first, as many as that takes; `noise` a ratio minus 1: of this device where `is_calibrated`, else what
    the rule asks of a keep.
    """
    gains = last_gains(rows, plateau) if plateau else ()
    if not is_inside_noise(gains, noise):
        return ""
    what = "inside the noise of this device" if is_calibrated else "none above what the rule asks for"
    low, high = (f"{gain * 100:+.1f} %" for gain in (min(gains), max(gains)))
    between = f"gained between {low} and {high}" if low != high else f"gained {low}"
    return f"plateau: the last {len(gains)} experiments {between}, {what} ({noise * 100:.1f} %)"


def screening_noise(calibration: Mapping[str, Any] | None) -> float | None:
    """How large a gain a screening run shows of a no-op: NOISE_SIGMAS standard deviations, a ratio minus 1.

    `calibration` is the fact that `calibrate` writes: `sd_m`, the spread of one round's mean over L of ln(champion's
    time / candidate's), one program being both; `worker_pairs`, how many such pairs of processes a screening run has;
    `se_floor`, less than which no spread is taken to be. A gain compares two screening runs, hence
    sqrt(2 / worker_pairs). None where the fact cannot be read.
    """
    if calibration is None:
        return None
    sd_m, pairs, floor = (calibration.get(key) for key in ("sd_m", "worker_pairs", "se_floor"))
    spread, least = positive_number(sd_m) or 0.0, positive_number(floor)
    count = positive_number(pairs)
    if count is None or least is None:
        return None
    noise = NOISE_SIGMAS * max(least, spread * math.sqrt(2 / count))
    return math.expm1(noise) if noise < 1 else None
