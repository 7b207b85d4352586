"""Whether a run's last experiments gained anything that this device could tell from noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mjolnir.core.model import Experiment, RowGlance, Status
from mjolnir.core.plateau import plateau_sentence, screening_noise
from mjolnir.store.ledger import Ledger
from mjolnir.store.run_state import RunState

MAX_LOOK_BACK_ROWS = 1000
"""A run of crashes longer than this hides the measured rows before it."""


def tell_plateau(
    ledger: Ledger,
    state: RunState,
    *,
    calibration: Mapping[str, Any] | None = None,
    glances: Sequence[RowGlance] | None = None,
) -> str:
    """One sentence when the last [run] plateau measured experiments gained nothing beyond noise; empty when not.

    The noise is that of `calibration` (the newest fact of `calibrate`), where there is none the rule's min_gain. Only
    the last rows are decoded, and none while the newest keep is too near. Raises Refused E_LEDGER.
    """
    plateau = int(state.config["run"]["plateau"])
    rows = read_last_scored(ledger, ledger.glances() if glances is None else glances, plateau)
    noise = screening_noise(calibration)
    is_calibrated = noise is not None
    return plateau_sentence(rows, plateau, state.min_gain if noise is None else noise, is_calibrated=is_calibrated)


def read_last_scored(ledger: Ledger, glances: Sequence[RowGlance], count: int) -> list[Experiment]:
    """The newest rows, whole and oldest first, down to the one with which `count` measured ones are found.

    Empty when that many did not follow the newest keep or baseline. Raises Refused E_LEDGER.
    """
    found = 0
    for back, glance in enumerate(reversed(glances), 1):
        if glance.status in (Status.KEEP, Status.BASELINE) or back > MAX_LOOK_BACK_ROWS:
            return []
        found += glance.status is Status.DISCARD and glance.score is not None
        if found == count:
            return ledger.tail(back)
    return []
