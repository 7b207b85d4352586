"""What `screen` and `decide` found, in a sentence each: the reason on a row. Gains are over the champion."""

from __future__ import annotations

from collections.abc import Mapping

from mjolnir.core.confirm import LEAST_T, SLOWER_BELOW, Decision, Screen
from mjolnir.core.lengths import join_labels
from mjolnir.core.model import Rule


def screen_reason(screen: Screen, *, pass_gain: float) -> str:
    """Why the screening run ended it, or that it passed. Not for a status of judge's own steps 1 to 4."""
    if screen.rule == Rule.REFERENCE_UNSTABLE:
        return f"FlashInfer reference unstable at {join_labels(screen.set_aside)}; re-evaluate"
    assert screen.gain is not None, "a screen that trusted the reference has a gain"
    sign = "<=" if screen.rule else ">"
    aside = f" (set aside, reference moved: {join_labels(screen.set_aside)})" if screen.set_aside else ""
    return f"screened: {percent(screen.gain)} {sign} {percent(pass_gain)}{aside}"


def decision_reason(
    decision: Decision, *, rounds: int, min_gain: float, attempt: int, relative: Mapping[int, float]
) -> str:
    """Why the confirmation ended as it did. `relative`: {L: mean of the rounds' champion time / candidate time}."""
    if decision.m is None or decision.gain is None:
        return "bad numbers: a round's times are not finite and positive"
    side_by_side = f"side by side in {rounds} round{'' if rounds == 1 else 's'} {percent(decision.gain)}"
    if decision.se is None or decision.t is None:
        return f"{side_by_side}: the first round shows no gain"
    figures = f"{side_by_side} (+-{100 * decision.se:.1f} %, t = {decision.t:.1f})"
    if decision.rule == Rule.GAIN:
        return figures
    if decision.rule == Rule.NOT_CONFIRMED:
        wanted = f"more than {percent(min_gain)} and t above {LEAST_T[attempt]:g}"
        return f"{figures}; a keep needs {wanted}" + (" at the second attempt" if attempt > 1 else "")
    return f"{figures}, but {_losses(decision, relative)}"


def _losses(decision: Decision, relative: Mapping[int, float]) -> str:
    lengths = decision.slower or decision.deep
    places = ", ".join(f"{join_labels([n])} ({percent(relative[n] - 1)})" for n in lengths)
    if decision.deep:
        return f"far slower in every round at {join_labels(decision.deep)}; slower at {places}"
    return f"slower than {percent(SLOWER_BELOW - 1)} at {places}"


def percent(gain: float) -> str:
    """0.0512 -> "+5.1 %", -0.03 -> "-3 %"."""
    value = 100 * gain
    text = f"{value:+.3g}" if abs(value) >= 1e6 else f"{round(value, 1) + 0.0:+.1f}".removesuffix(".0")
    return f"{text} %"
