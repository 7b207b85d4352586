"""The numbers of the rule that decided, as a row stores them: whoever reads the row can judge it again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from mjolnir.core.confirm import MAX_SET_ASIDE, PASS_GAIN, REFERENCE_JUMP
from mjolnir.core.model import Experiment
from mjolnir.core.rule_names import CONFIRMED
from mjolnir.loop.judgement import Judged, policy_of
from mjolnir.loop.terms import Terms


def rule_params(
    terms: Terms, judged: Judged | None = None, *, confirm: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Name and every number of the rule. `confirm`: what belongs to the confirmation here (see `confirm_params`)."""
    policy = asdict(policy_of(terms))
    params = {"rule": terms.rule, **policy, "required": list(policy["required"])}
    params |= {"lengths": list(terms.lengths), "iters": terms.iters, "gate": terms.gate}
    if terms.rule == CONFIRMED:
        params["screen"] = {
            "reference_jump": REFERENCE_JUMP,
            "max_set_aside": MAX_SET_ASIDE,
            "pass_gain": PASS_GAIN,
        }
        params |= confirm or {}
    if judged is not None and judged.unsteady:
        params["unsteady"] = judged.unsteady
    return params


def confirm_params(
    *, se_floor: float, attempt: int, calibration: Mapping[str, Any] | None, unrecorded: int = 0
) -> dict[str, Any]:
    """The confirmation's own numbers, with the calibration that they come from (None: there is none). `unrecorded`:
    how many confirmations of the program began before and left no row."""
    confirm = {"se_floor": se_floor, "attempt": attempt} | ({"unrecorded": unrecorded} if unrecorded else {})
    return {"confirm": confirm, "calibration": calibration}


def batch_calls(sweep: Mapping[str, Any]) -> dict[str, int]:
    """{L: calls of the largest timed batch of the candidate}, from a sweep's part of a run document: a point holds
    blocks, by worker pair, each with its calls. Empty where the target does not say."""
    found: dict[str, int] = {}
    for series in sweep.get("series", ()):
        for point in series["points"] if series.get("role") == "candidate" else ():
            calls = [block["calls"] for of_pair in point.get("blocks", ()) for block in of_pair]
            if calls:
                found[str(point["L"])] = max(calls)
    return found


def usual_iters(champion: Experiment | None) -> int | None:
    """The calls of the largest batch with which the champion was timed; None where its row does not say."""
    calls = (champion.params or {}).get("batch_calls") if champion is not None else None
    known = [count for count in calls.values() if isinstance(count, int)] if isinstance(calls, dict) else []
    return max(known, default=None)
