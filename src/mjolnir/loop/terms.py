"""The terms of one evaluation: the options of `evaluate` over the frozen configuration, which they may only tighten."""

from __future__ import annotations

from dataclasses import dataclass

from mjolnir.config import Config
from mjolnir.core.lengths import join_labels, parse_lengths
from mjolnir.core.rule_names import SEED
from mjolnir.errors import Refused, UsageFault
from mjolnir.targets.protocol import resolve_target_name

MAX_ITERS = 1_000_000
"""Calls of one batch. More is a slip of the keyboard."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What the caller of `evaluate` asked for. None and the empty string: what the frozen configuration says."""

    target: str | None = None
    min_gain: float | None = None
    lengths: str = ""
    iters: int | None = None
    gate: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What the evaluation is held to. `rule`: confirmed or seed, as frozen at `init`. `required` are the frozen
    lengths, `lengths` those that are measured, in tokens; `min_gain` is a ratio minus 1 (0.02 is 2 %)."""

    target: str
    min_gain: float
    required: tuple[int, ...]
    lengths: tuple[int, ...]
    iters: int | None
    gate: bool
    rule: str = SEED


def settle_terms(
    config: Config, target: str, wishes: Wishes, *, rule: str = "", usual_iters: int | None = None
) -> Terms:
    """The terms under the frozen `config` of a run on `target`. `rule`: the run's, empty: that of `config`.
    `usual_iters`: calls of the largest batch with which the champion was timed, None where that is not known.

    Raises UsageFault for a value that makes no sense and Refused (E_CONFIG) for one that is laxer than, or other than,
    what was frozen.
    """
    if wishes.target is not None and resolve_target_name(wishes.target) != target:
        raise _refused(f"this run is measured on {target!r}, not on {wishes.target!r}")
    floor = config.min_gain(target)
    required = config.targets[target].lengths
    if not wishes.gate and config.gate.metrics_url:
        raise _refused("--no-gate is laxer than the frozen configuration, which has a [gate]")
    return Terms(
        target=target,
        min_gain=_min_gain(wishes.min_gain, floor),
        required=required,
        lengths=subset_of(required, wishes.lengths) if wishes.lengths else required,
        iters=_iters(wishes.iters, usual_iters),
        gate=wishes.gate,
        rule=rule or config.run.rule,
    )


def subset_of(frozen: tuple[int, ...], text: str) -> tuple[int, ...]:
    """The lengths that --ls names, in tokens. Raises UsageFault, and Refused when one is not a frozen length."""
    lengths = asked_lengths(text)
    strangers = set(lengths) - set(frozen)
    if strangers:
        raise _refused(f"--ls {join_labels(strangers)} is not among the frozen lengths {join_labels(frozen)}")
    return lengths


def asked_lengths(text: str) -> tuple[int, ...]:
    """The lengths in `text`, in tokens. Raises UsageFault."""
    try:
        return parse_lengths(text)
    except ValueError as e:
        raise UsageFault(f"--ls: {e}", 'give context lengths: --ls "128 4K"') from e


def checked_iters(iters: int | None) -> int | None:
    """`iters` unless it makes no sense. Raises UsageFault."""
    if iters is not None and not 1 <= iters <= MAX_ITERS:
        raise UsageFault(
            f"--iters {iters} makes no sense", f"give calls of a batch from 1 to {MAX_ITERS}, or leave it out"
        )
    return iters


def _iters(wished: int | None, usual: int | None) -> int | None:
    iters = checked_iters(wished)
    if iters is not None and usual is not None and iters < usual:
        raise _refused(f"--iters {iters} is laxer than the {usual} calls a batch with which the champion was timed")
    return iters


def _min_gain(wished: float | None, floor: float) -> float:
    if wished is None:
        return floor
    if not 0 <= wished <= 1:  # NaN fails both comparisons
        raise UsageFault(
            f"--min-gain {wished} makes no sense", "give a ratio from 0 to 1: --min-gain 0.05 asks for 5 %"
        )
    if wished < floor:
        raise _refused(f"--min-gain {wished:g} is laxer than the frozen {floor:g}")
    return wished


def _refused(message: str) -> Refused:
    return Refused(
        "E_CONFIG", message, "leave the option out, or start a run with other terms: mjolnir autoresearch init TAG"
    )
