"""The gate on cpu: wait, for a bounded time, until nothing else runs on the workers' core."""

from __future__ import annotations

import time
from typing import Any

from mjolnir.targets.cpu_machine import busy_fraction

QUIET_SHARE = 0.15
"""Above this part of the core being busy, somebody else is computing there."""
WAIT_LIMIT_S = 20.0
CLEAN_SAMPLES = 3
"""In a row; one sample is a tenth of a second."""


def wait_for_quiet(core: int | None, *, wanted: bool) -> dict[str, Any]:
    """The gate's part of a run document: was it asked for, was the window clean, how long was waited (seconds).

    A core that stays busy does not stop the measurement: each block has its own witness, and disturbed blocks are
    measured again. It is said on the row.
    """
    if not wanted:
        return {"wanted": False, "clean": None, "waited_s": 0.0, "busy": []}
    start = time.monotonic()
    busy: list[float] = []
    clean = 0
    while clean < CLEAN_SAMPLES and time.monotonic() - start < WAIT_LIMIT_S:
        share = busy_fraction(core)
        if share is None:
            return {"wanted": True, "clean": None, "waited_s": 0.0, "busy": []}
        busy.append(round(share, 2))
        clean = clean + 1 if share <= QUIET_SHARE else 0
    waited_s = round(time.monotonic() - start, 2)
    return {"wanted": True, "clean": clean >= CLEAN_SAMPLES, "waited_s": waited_s, "busy": busy[-10:]}
