"""The race of the scripted target (a double, see mjolnir_scripted.py): no clock runs, the times stand in the texts.

A leg's time at L is REFERENCE_US_PER_TOKEN * L / SPEEDUP. What a test can say beside that:

kernel   RACE = {"fail": "crash", "at": 2}        in the second race that it takes part in it crashes; or a code E_...
         RACED = {"champion": 1.5}                in that role its times are that many times as long
machine  {"race_noise": {"128": [1.1, 0.9]}}      factors of the time of every leg but the first, one a race, in turn
         {"race_unsteady": ["why", ""]}           one a race, in turn; afterwards it is steady
Races are counted by the lines of the file that $MJOLNIR_SCRIPTED names with ".races" added.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from mjolnir.core.model import Crashed, Tampered
from mjolnir.errors import EnvironmentFault
from mjolnir.targets.protocol import Entrant, Observe, Progress, RaceReport, RaceRequest

REFERENCE_US_PER_TOKEN = 0.5


def run_race(
    entrants: Sequence[Entrant],
    request: RaceRequest,
    observe: Observe,
    *,
    world: dict[str, Any],
    constants: Callable[[bytes], dict[str, Any]],
) -> RaceReport:
    """What the texts of the entrants and the machine's script say."""
    assert len({e.role for e in entrants}) == len(entrants) >= 2
    roles = ", ".join(e.role for e in entrants)
    observe(Progress(stage="race", detail=roles, done=0, total=1))
    number = _count_race(roles)
    times_us: dict[str, dict[int, float]] = {}
    for place, entrant in enumerate(entrants):
        script = constants(entrant.kernel.blob) if entrant.kernel is not None else {}
        failure = _failure(script, number)
        if failure is not None:
            return RaceReport(failure=failure, failed_role=entrant.role, seconds=0.5)
        times_us[entrant.role] = {
            tokens: _time_us(script, tokens)
            * script.get("RACED", {}).get(entrant.role, 1.0)
            * (_noise(world, tokens, number) if place else 1.0)
            for tokens in request.lengths
        }
    unsteady = world.get("race_unsteady", [])
    return RaceReport(
        times_us=times_us,
        unsteady=unsteady[number] if number < len(unsteady) else "",
        document={
            "params": {"lengths": list(request.lengths), "order": [e.role for e in entrants]},
            "series": [
                {"id": role, "label": role, "role": role, "points": [{"L": n, "total_us": t} for n, t in of.items()]}
                for role, of in times_us.items()
            ],
            "cases": [],
            "summary": {},
        },
        gate={"asked": request.gate},
        seconds=0.5,
    )


def _time_us(script: dict[str, Any], tokens: int) -> float:
    speedup = script.get("SPEEDUP", 1.0)
    ratio = speedup.get(tokens, 1.0) if isinstance(speedup, dict) else speedup
    return REFERENCE_US_PER_TOKEN * tokens / float(ratio)


def _noise(world: dict[str, Any], tokens: int, number: int) -> float:
    factors = world.get("race_noise", {}).get(str(tokens), [1.0])
    return float(factors[number % len(factors)])


def _failure(script: dict[str, Any], number: int) -> Crashed | Tampered | None:
    race = script.get("RACE", {})
    if not race or number + 1 != race.get("at", 1):
        return None
    if race["fail"] == "environment":
        raise EnvironmentFault("E_WORKER", "the device went away", "plug it in again")
    if race["fail"] == "crash":
        return Crashed(stage="confirm", detail="RuntimeError: boom", log="boom\n")
    return Tampered(code=race["fail"], detail="the answer depends on hidden state")


def _count_race(roles: str) -> int:
    """How many races there were before this one on this machine."""
    script = os.environ.get("MJOLNIR_SCRIPTED")
    if not script:
        return 0
    path = Path(f"{script}.races")
    number = len(path.read_text().splitlines()) if path.exists() else 0
    with path.open("a") as file:
        file.write(f"{roles}\n")
    return number
