"""What a recheck says: the fact beside the ledger, which is also the JSON answer, and the run document."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import mjolnir
from mjolnir.core.headline import Estimate, estimate_ratio
from mjolnir.core.model import Experiment
from mjolnir.core.progress import confirmed_gain, confirmed_gain_interval
from mjolnir.core.stats import geomean
from mjolnir.loop.recheck_rounds import BASELINE, CHAMPION, REFERENCE, Rounds
from mjolnir.store.run_state import RunState

SCHEMA = "mjolnir.recheck/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """The chain of champions, its first and its last row."""

    kept: tuple[Experiment, ...]
    baseline: Experiment
    champion: Experiment


def make_answer(
    state: RunState, rows: Rows, found: Rounds, *, device: Mapping[str, Any], ts: str, seconds: float
) -> dict[str, Any]:
    """The fact, all but its `id`, which is the run_id of its document. Ratios > 1: faster; keys of L are decimal."""
    has_baseline = BASELINE in found.times_us[0]
    speedup = estimate_ratio(found.times_us, slow=BASELINE, fast=CHAMPION) if has_baseline else None
    score = estimate_ratio(found.times_us, slow=REFERENCE, fast=CHAMPION)
    first = estimate_ratio(found.times_us, slow=REFERENCE, fast=BASELINE) if has_baseline else None
    claimed = _claimed(rows)
    return {
        "schema": SCHEMA,
        "id": "",
        "ts": ts,
        "run": state.tag,
        "target": state.target,
        "device": dict(device),
        "rounds": len(found.times_us),
        "lengths": sorted(found.times_us[0][CHAMPION]),
        "baseline": _row_json(rows.baseline),
        "champion": _row_json(rows.champion),
        "speedup": _estimate_json(speedup),
        "score": _estimate_json(score),
        "baseline_score": _estimate_json(first),
        "claimed": claimed,
        "agrees": _agrees(speedup, claimed),
        "unsteady": list(found.unsteady),
        "notes": list(found.notes),
        "seconds": round(seconds, 3),
    }


def make_document(state: RunState, answer: Mapping[str, Any], found: Rounds) -> dict[str, Any]:
    """The raw record: every race, and the times of a role at each L by round with their geomean."""
    roles = list(found.times_us[0])
    return {
        "default": True,
        "ts": answer["ts"],
        "host": platform.node(),
        "environment": {
            "mjolnir": mjolnir.__version__,
            "python": platform.python_version(),
            "platform": platform.platform(),
            "device": answer["device"],
        },
        "params": {
            "target": state.target,
            "kernel": state.kernel,
            "origin": answer["champion"]["commit"],
            "run": state.tag,
            "rounds": answer["rounds"],
            "lengths": answer["lengths"],
        },
        "series": [{"id": role, "label": role, "role": role, "points": _points(role, found)} for role in roles],
        "cases": [],
        "races": found.races,
        "summary": {key: answer[key] for key in ("speedup", "score", "baseline_score", "claimed", "unsteady", "notes")},
    }


def _points(role: str, found: Rounds) -> list[dict[str, Any]]:
    points = []
    for tokens in sorted(found.times_us[0][role]):
        times_us = [one[role][tokens] for one in found.times_us]
        points.append({"L": tokens, "total_us": geomean(times_us), "rounds_us": times_us})
    return points


def _claimed(rows: Rows) -> dict[str, Any]:
    """What the ledger says: the product of the gains along the chain, as a ratio, and the scores of its two ends."""
    gain = confirmed_gain(rows.kept) if len(rows.kept) > 1 else None
    interval = confirmed_gain_interval(rows.kept)
    return {
        "speedup": 1 + gain if gain is not None else None,
        "low": 1 + interval[0] if interval is not None else None,
        "high": 1 + interval[1] if interval is not None else None,
        "score": rows.champion.score,
        "baseline_score": rows.baseline.score,
    }


def _agrees(speedup: Estimate | None, claimed: Mapping[str, Any]) -> bool | None:
    """Whether claim and measurement have a value in common; None where there is nothing to compare."""
    if speedup is None or claimed["speedup"] is None:
        return None
    low = claimed["low"] if claimed["low"] is not None else claimed["speedup"]
    high = claimed["high"] if claimed["high"] is not None else claimed["speedup"]
    return speedup.covers(low, high)


def _row_json(row: Experiment) -> dict[str, Any]:
    return {"id": row.id, "commit": row.commit_full, "kernel_blob": row.kernel_blob}


def _estimate_json(estimate: Estimate | None) -> dict[str, Any] | None:
    if estimate is None:
        return None
    per_length = {str(tokens): ratio for tokens, ratio in estimate.per_length.items()}
    return {"value": estimate.value, "low": estimate.low, "high": estimate.high, "per_L": per_length}
