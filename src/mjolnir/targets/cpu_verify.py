"""Under the clock every answer counts: each timed output of every leg against the oracle, inputs as they were left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from mjolnir.core.lengths import length_label
from mjolnir.core.model import Crashed, Tampered
from mjolnir.errors import EnvironmentFault
from mjolnir.oracle.check import CheckResult
from mjolnir.oracle.timed import TimedInputs
from mjolnir.oracle.timed_attention import attend_timed
from mjolnir.sandbox.process import ReplyKind
from mjolnir.targets.cpu_timed_leg import TimedLeg
from mjolnir.targets.cpu_workers import LegFailure
from mjolnir.targets.worker_words import describe_failure


def verify_legs(legs: Sequence[TimedLeg], length: int) -> LegFailure | None:
    """The first leg with a wrong answer or a changed input; all legs have the same timed inputs.

    Raises EnvironmentFault when the reference is wrong.
    """
    used = max(leg.used for leg in legs)
    expected = attend_timed(_first_calls(legs[0].timed, used))
    for leg in legs:
        if leg.leg.is_reference:
            _verify_reference(leg, length, expected)
        elif (finding := _verify(leg, length, expected)) is not None:
            return LegFailure(role=leg.leg.role, finding=finding)
    return None


def failed_leg(leg: TimedLeg, length: int, *, stage: str) -> LegFailure:
    """What a leg whose call did not end as it should means. Raises EnvironmentFault for the reference."""
    reply = leg.failure
    assert reply is not None
    detail = f"L={length_label(length)}: {describe_failure(reply)}"
    if leg.leg.is_reference:
        raise EnvironmentFault("E_WORKER", f"the reference failed at {detail}", "mjolnir doctor")
    if reply.kind == ReplyKind.CONTRACT:
        return LegFailure(role=leg.leg.role, finding=Tampered(code="E_CONTRACT", detail=detail))
    log = "\n".join(part for part in (reply.text, leg.leg.worker.log) if part)
    return LegFailure(role=leg.leg.role, finding=Crashed(stage=stage, detail=detail, log=log))


def _verify_reference(leg: TimedLeg, length: int, expected: NDArray[np.float64]) -> None:
    wrong = leg.first_wrong(expected)
    if wrong is not None:
        detail = f"the reference is wrong at L={length_label(length)}: {wrong[1].detail}"
        raise EnvironmentFault("E_WORKER", detail, "mjolnir doctor")


def _verify(leg: TimedLeg, length: int, expected: NDArray[np.float64]) -> Tampered | None:
    changed = leg.changed_input()
    if changed is not None:
        return Tampered(code="E_MUTATES", detail=f"decode changed its input {changed} at L={length_label(length)}")
    found = leg.first_wrong(expected)
    return None if found is None else _wrong(leg, length, *found, expected)


def _wrong(leg: TimedLeg, length: int, call: int, result: CheckResult, expected: NDArray[np.float64]) -> Tampered:
    where = f"timed call {call + 1} at L={length_label(length)}"
    if result.unwritten:
        return Tampered(code="E_UNWRITTEN", detail=f"{where}: {result.detail}")
    if leg.is_older_answer(call, expected):
        return Tampered(code="E_STATE", detail=f"{where}: the answer is that of an earlier call")
    return Tampered(code="E_PROFILED", detail=f"{where} is wrong, though the check passed: {result.detail}")


def _first_calls(timed: TimedInputs, count: int) -> TimedInputs:
    return replace(
        timed,
        q=timed.q[:count],
        token_index=timed.token_index[:count],
        page_ids=timed.page_ids[:count],
        slots=timed.slots[:count],
        tokens=timed.tokens[:count],
    )
