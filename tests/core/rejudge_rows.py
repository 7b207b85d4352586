"""Rows as `evaluate` would write them, to be judged again."""

from __future__ import annotations

from dataclasses import replace

from mjolnir.core.confirm import PASS_GAIN, decide, screen
from mjolnir.core.confirm_text import decision_reason, screen_reason
from mjolnir.core.judge import judge
from mjolnir.core.model import Experiment, Status
from mjolnir.core.rejudge import RunTerms
from mjolnir.core.stats import geomean

LENGTHS = (128, 1024, 4096, 16384, 65536, 262144)
PARAMS = {
    "min_gain": 0.02, "noise": 0.03, "reference_jump": 0.15, "max_set_aside": 2, "max_slower": 1,
    "required": list(LENGTHS), "lengths": list(LENGTHS), "iters": None, "gate": True,
}  # fmt: skip
CONFIRM_PARAMS = {
    "screen": {"reference_jump": 0.10, "max_set_aside": 2, "pass_gain": 0.01},
    "confirm": {"se_floor": 0.002, "attempt": 1},
    "calibration": None,
}
TERMS = {rule: RunTerms(rule=rule, min_gain=0.02, required=LENGTHS) for rule in ("seed", "confirmed")}


def a_row(rule="seed", *, ratio=1.0, champion=None, **values):
    """A measured row that is `ratio` times as fast as the reference, judged as it should be."""
    fi_us = {str(n): n / 10 for n in LENGTHS}
    mj_us = {key: us / ratio for key, us in fi_us.items()}
    per_length = {key: fi_us[key] / mj_us[key] for key in fi_us}
    row = Experiment(
        id=2 if champion else 1, ts="t", status=Status.DISCARD, schema="mjolnir.ledger/1", hash="h",
        score=geomean(per_length.values()), correctness="pass", per_L=per_length, fi_us=fi_us, mj_us=mj_us,
        min_gain=0.02, params={"rule": rule, **PARAMS, **(CONFIRM_PARAMS if rule == "confirmed" else {})},
    )  # fmt: skip
    verdict = judge(
        {"score": row.score, "correctness": "pass", "per_L": per_length, "fi_us": fi_us}, champion, required=LENGTHS
    )
    return replace(
        row,
        status=verdict.status,
        rule=verdict.rule,
        reason=verdict.reason,
        judge={"status": verdict.status.value, "reason": verdict.reason},
        vs_best={str(n): x for n, x in verdict.relative.items()},
        set_aside=list(verdict.set_aside),
        **values,
    )


def a_confirmed_row(champion, ratios, *, screened=None):
    """A row that passed its screen, with one round for each of `ratios` (champion's time / candidate's time)."""
    row = a_row("confirmed", ratio=screened or ratios[0], champion=champion)
    found = screen(row, champion)
    said = {"per_L": row.per_L, "fi_us": row.fi_us, "mj_us": row.mj_us, "gain": found.gain}
    said |= {"set_aside": list(found.set_aside), "status": found.status, "rule": found.rule}
    row = replace(row, screen=said, status=found.status or row.status, rule=found.rule)
    row = replace(row, reason=screen_reason(found, pass_gain=PASS_GAIN))
    if found.status is not None:
        return row
    rounds = [{str(n): [n / 10, n / 10 / ratio] for n in LENGTHS} for ratio in ratios]
    d = decide(rounds, attempt=1)
    confirm = {"m": d.m, "se": d.se, "t": d.t, "attempt": 1, "se_floor": 0.002, "slower": list(d.slower)}
    confirm |= {"deep": list(d.deep), "status": d.status, "rule": d.rule}
    reason = decision_reason(
        d, rounds=len(rounds), min_gain=0.02, attempt=1, relative={n: geomean(ratios) for n in LENGTHS}
    )
    row = replace(row, ab={"rounds": rounds, "reference_us": None}, confirm=confirm, status=d.status, rule=d.rule)
    row = replace(row, reason=reason)
    if d.status is not Status.KEEP:
        return row
    mj_us = {str(n): geomean(r[str(n)][1] for r in rounds) for n in LENGTHS}
    reference_us = {str(n): n / 10 for n in LENGTHS}
    per_length = {key: reference_us[key] / mj_us[key] for key in mj_us}
    return replace(
        row,
        ab={"rounds": rounds, "reference_us": reference_us},
        fi_us=reference_us,
        mj_us=mj_us,
        per_L=per_length,
        score=geomean(per_length.values()),
        vs_best={key: x / champion.per_L[key] for key, x in per_length.items()},
        set_aside=[],
    )
