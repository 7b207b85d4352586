"""Does the reference see what the champion's side says? A kernel whose speed depends on more than its input can be slow
on purpose while it is the champion; beside the reference it then gains nothing. Docs: docs/keep-rule.md.

The check is loose: a champion's score was taken at another time, and an honest gain must not be lost to that.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from mjolnir.core.confirm_text import percent
from mjolnir.core.stats import mean

LEAST_PART = 0.5
SLACK = 0.05
"""The reference must see at least half of the gain, less 5 % (log scale): several times what two sweeps scatter by."""


def is_seen(m: float, relative: Mapping[int, float]) -> bool:
    """m: ln of the gain beside the champion; relative: {L: score beside the reference / the champion's}, each > 0."""
    return mean(math.log(x) for x in relative.values()) >= LEAST_PART * m - SLACK


def unseen_reason(reason: str, relative: Mapping[int, float]) -> str:
    """`reason` of the rounds, with what the reference says."""
    seen = math.expm1(mean(math.log(x) for x in relative.values()))
    return f"{reason}, but beside the reference it is {percent(seen)}: the champion may be slow only beside others"
