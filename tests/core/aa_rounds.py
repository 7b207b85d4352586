"""Rounds of one program against itself with known noise, for tests of calibrations."""

from __future__ import annotations

import math
import random

CPU = {128: 0.03, 1024: 0.035, 4096: 0.04, 16384: 0.03}
QUIET = {128: 0.004, 1024: 0.004, 4096: 0.004, 16384: 0.004}


def aa_rounds(count, cv, *, seed=1, two_speeds=None, drift=0.0):
    """`cv` {L: sigma of the log ratio of a round}; `two_speeds` {L: factor of the slow half of the processes}."""
    rng, slow = random.Random(seed), two_speeds or {}
    rounds = []
    for _ in range(count):
        level = math.exp(rng.gauss(0, drift))
        rounds.append({n: tuple(level * _time(rng, n, x, slow.get(n, 1.0)) for _ in range(2)) for n, x in cv.items()})
    return rounds


def _time(rng, tokens, cv, factor):
    return 0.5 * tokens * math.exp(rng.gauss(0, cv / math.sqrt(2))) * (factor if rng.random() < 0.5 else 1.0)
