"""A calibration as people read it: the noise an L, and what both keep rules do with it."""

from __future__ import annotations

from mjolnir.core.calibration import Calibration, no_op_sentence
from mjolnir.core.lengths import join_labels, length_label
from mjolnir.core.modes import Modes
from mjolnir.core.share import Share
from mjolnir.render.number import DASH
from mjolnir.render.text import one_line, short_commit

_RATE_CELLS = 30


def calibration_lines(calibration: Calibration, rule: str) -> list[str]:
    """The whole of it. `rule`: the run's, whose sentence ends it."""
    noise = calibration.noise
    lines = [
        f"{calibration.runs} races of the kernel {short_commit(calibration.commit)} against itself on "
        f"{one_line(calibration.target)}, every leg in fresh workers",
        f"{'L':>6} {'noise':>8}  two speeds",
    ]
    for tokens, sigma in noise.sigma.items():
        lines.append(f"{length_label(tokens):>6} {sigma * 100:>6.2f} %  {_modes_text(noise.bimodal.get(tokens))}")
    lines.append(
        f"mean over L: {noise.sd_m * 100:.2f} %; a confirmation's standard error is taken to be at least "
        f"{noise.se_floor * 100:.2f} %"
    )
    lines += [*_warnings(calibration), "", *_rate_lines(calibration), "", no_op_sentence(calibration, rule)]
    return lines


def short_calibration_lines(calibration: Calibration, rule: str) -> list[str]:
    """Two lines for the report of `init`."""
    noise = calibration.noise
    sigmas = ", ".join(f"{length_label(tokens)} {sigma * 100:.1f} %" for tokens, sigma in noise.sigma.items())
    two_speeds = f"; two speeds at {join_labels(noise.bimodal)}" if noise.bimodal else ""
    return [
        f"noise, {calibration.runs} races of the kernel against itself: {sigmas}{two_speeds}",
        f"  {no_op_sentence(calibration, rule)}",
    ]


def _modes_text(modes: Modes | None) -> str:
    if modes is None:
        return DASH
    share = f", in {modes.slow_share * 100:.0f} % of the processes" if modes.slow_share is not None else ""
    return f"1 and {modes.slow:.3f} times the time{share}"


def _warnings(calibration: Calibration) -> list[str]:
    noise, lines = calibration.noise, []
    if noise.noisy_lengths:
        lines.append(
            f"noisy at {join_labels(noise.noisy_lengths)}: more than 5 %, so small gains are not told from luck"
        )
    if noise.too_noisy_lengths:
        lines.append(
            f"too noisy at {join_labels(noise.too_noisy_lengths)}: more than 15 %. Look for other load, clocks that "
            "change and heat; nothing measured here means much"
        )
    return lines + [one_line(note, 200) for note in calibration.notes]


def _rate_lines(calibration: Calibration) -> list[str]:
    """One line a true change: how often each rule keeps it, with the 95 % interval."""
    rules = list(calibration.rates)
    lines = [
        "kept, of tries at a true change (95 % interval)" + f"; a keep must gain more than "
        f"{calibration.min_gain * 100:g} %",
        f"{'':>8}" + "".join(f"  {one_line(rule):<{_RATE_CELLS}}" for rule in rules).rstrip(),
    ]
    no_ops = [calibration.rates[rule].no_op for rule in rules]
    lines.append(f"{'no-op':>8}" + _cells(no_ops, 3))
    gains = sorted({gain for rule in rules for gain in calibration.rates[rule].power})
    for gain in gains:
        shares = [calibration.rates[rule].power.get(gain) for rule in rules]
        lines.append(f"{f'+{gain * 100:g} %':>8}" + _cells(shares, 1))
    return lines


def _cells(shares: list[Share | None] | list[Share], digits: int) -> str:
    return "".join(f"  {_share_text(share, digits):<{_RATE_CELLS}}" for share in shares).rstrip()


def _share_text(share: Share | None, digits: int) -> str:
    if share is None:
        return DASH
    value, low, high = (f"{100 * x:.{digits}f}" for x in (share.value, share.low, share.high))
    return f"{value} % ({low} to {high})"
