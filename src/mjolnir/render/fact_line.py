"""What was measured beside the ledger, in one line each. The facts come from files, so any key may lack or be odd."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from mjolnir.core.per_length import positive_number
from mjolnir.core.rule_names import CONFIRMED
from mjolnir.render.number import times_text, when_text
from mjolnir.render.text import one_line


def calibration_line(fact: Mapping[str, Any], *, rule: str = CONFIRMED) -> str:
    """What `calibrate` found: scatter by L, the least standard error, how often a no-op passes the keep rule `rule`."""
    floor = positive_number(fact.get("se_floor"))
    parts = [
        _sigma_text(fact.get("sigma")),
        f"least standard error {floor * 100:.2f} %" if floor is not None else "",
        _no_op_text(fact, rule),
    ]
    said = "; ".join(part for part in parts if part) or "cannot be read"
    return f"{said} ({_when(fact)})"


def recheck_line(fact: Mapping[str, Any], *, champion_id: int | None = None) -> str:
    """What `recheck` found, beside what the ledger claimed then. `champion_id`: who is the champion now."""
    speedup, score = (estimate_text(fact.get(key)) for key in ("speedup", "score"))
    measured = _id(fact, "champion")
    parts = [f"{speedup} of the baseline" if speedup else "", f"{score} of the reference" if score else ""]
    said = ", ".join(part for part in parts if part) or "cannot be read"
    claimed = _claim(fact) if speedup else ""
    older = f"; of #{measured}, before the champion #{champion_id}" if measured not in (None, champion_id) else ""
    return f"{said}{claimed}{older} ({_when(fact)})"


def estimate_text(estimate: Any) -> str:
    """An estimate's JSON as "1.310x (95 %: 1.295 to 1.330)"; empty where there is none."""
    if not isinstance(estimate, Mapping):
        return ""
    value, low, high = (positive_number(estimate.get(key)) for key in ("value", "low", "high"))
    if value is None or low is None or high is None:
        return ""
    return f"{times_text(value)} (95 %: {low:.3f} to {high:.3f})"


def claim_text(claimed: Any) -> str:
    """What the ledger claims over the baseline as "1.309x (95 %: ...)"; without an interval the ratio alone."""
    if not isinstance(claimed, Mapping):
        return ""
    value = positive_number(claimed.get("speedup"))
    interval = estimate_text({"value": value, "low": claimed.get("low"), "high": claimed.get("high")})
    return interval or (times_text(value) if value is not None else "")


def _claim(fact: Mapping[str, Any]) -> str:
    text = claim_text(fact.get("claimed"))
    return f"; the ledger claims {text}" if text else ""


def _sigma_text(sigma: Any) -> str:
    """The smallest and the largest scatter of an L; of a device without any it is zero."""
    values = [_ratio(x) for x in sigma.values()] if isinstance(sigma, Mapping) else []
    known = [x for x in values if x is not None]
    return f"noise {min(known) * 100:.1f} to {max(known) * 100:.1f} % an L" if known else ""


def _no_op_text(fact: Mapping[str, Any], rule: str) -> str:
    """The rate; where no no-op passed, the end of its interval, rounded up."""
    found: Any = fact
    for key in ("rates", rule, "no_op"):
        found = found.get(key) if isinstance(found, Mapping) else None
    rate, most = (_ratio(found.get(key)) for key in ("value", "high")) if isinstance(found, Mapping) else (None, None)
    if rate is None or most is None:
        return ""
    share = f"{rate * 100:.2g}" if rate > 0 else f"fewer than {math.ceil(round(most * 1000, 9)) / 10:g}"
    return f"a no-op passes in {share} % of tries"


def _ratio(value: Any) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and 0 <= value <= 1 else None


def _id(fact: Mapping[str, Any], role: str) -> int | None:
    row = fact.get(role)
    row_id = row.get("id") if isinstance(row, Mapping) else None
    return row_id if isinstance(row_id, int) else None


def _when(fact: Mapping[str, Any]) -> str:
    return one_line(when_text(str(fact.get("ts") or fact.get("utc") or "")), 20)
