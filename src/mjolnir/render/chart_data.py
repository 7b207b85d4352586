"""What a progress chart shows, worked out without a plotting library: which points, which labels, which scale."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from mjolnir.core.model import RowGlance, Status
from mjolnir.core.progress import counts_by_status

MAX_LABELS = 12
"""More hypotheses than this on one picture are read by nobody; the largest gains are named."""
LABEL_CHARACTERS = 38
LOG_FROM_RATIO = 2.5
"""A scale that spans more than this is logarithmic: +10 % then looks the same at the bottom and at the top."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartData:
    """`rows` in the order of the ledger; `hypotheses` and `gains` (this row's speedup / its champion's) by id for
    `labelled_ids(rows)`; the speedups against the reference of the baseline and of the champion by L in tokens;
    `confirmed_gain` a ratio minus 1, None: not known."""

    title: str
    rows: Sequence[RowGlance]
    hypotheses: Mapping[int, str] = field(default_factory=dict)
    gains: Mapping[int, float] = field(default_factory=dict)
    baseline_per_length: Mapping[int, float] = field(default_factory=dict)
    champion_per_length: Mapping[int, float] = field(default_factory=dict)
    confirmed_gain: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """Limits of the score axis; what lies outside is drawn at its edge."""

    low: float
    high: float
    is_log: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A ChartData sorted into what is drawn, once for both grounds.

    `kept`: the chain of champions; `others`: scored rows on the scale, by status; `below` and `above`: ids of scored
    rows beyond it; `lanes`: rows without a score by kind; `counts` by status, those that occur.
    """

    data: ChartData
    scale: Scale
    kept: Sequence[RowGlance]
    others: Mapping[Status, Sequence[RowGlance]]
    below: Sequence[int]
    above: Sequence[int]
    lanes: Mapping[str, Sequence[RowGlance]]
    counts: Mapping[Status, int]


def plan_picture(data: ChartData, headroom: float) -> Picture:
    """Sort the rows; `headroom` is the part of the height that is kept free for labels."""
    scale = score_scale(data.rows, headroom)
    others: dict[Status, list[RowGlance]] = {Status.DISCARD: [], Status.NOISY: []}
    below, above = [], []
    for row in data.rows:
        if row.status in others and has_score(row):
            score = row.score or 0.0
            if score < scale.low:
                below.append(row.id)
            elif score > scale.high:
                above.append(row.id)
            else:
                others[row.status].append(row)
    return Picture(
        data=data,
        scale=scale,
        kept=chain(data.rows),
        others=others,
        below=below,
        above=above,
        lanes=rug_lanes(data.rows),
        counts={status: n for status, n in counts_by_status(data.rows).items() if n},
    )


def has_score(row: RowGlance) -> bool:
    """True where the row has a number that was trusted enough to be a score; an invalid row never has."""
    return row.status is not Status.INVALID and row.score is not None and math.isfinite(row.score) and row.score > 0


def chain(rows: Sequence[RowGlance]) -> list[RowGlance]:
    """The lineage of champions: the baseline and every keep that have a score, in order."""
    return [row for row in rows if row.status in (Status.BASELINE, Status.KEEP) and has_score(row)]


def step_ratios(kept: Sequence[RowGlance]) -> dict[int, float]:
    """By id: a champion's score over the score of the champion before it; 1 for the first."""
    ratios: dict[int, float] = {}
    before = None
    for row in kept:
        score = row.score or 1.0
        ratios[row.id] = score / before if before else 1.0
        before = score
    return ratios


def labelled_ids(rows: Sequence[RowGlance], limit: int = MAX_LABELS) -> tuple[int, ...]:
    """The champions whose hypotheses are shown, the most important first: newest, first, then by size of the step."""
    kept = chain(rows)
    if not kept:
        return ()
    ratios = step_ratios(kept)
    ordered = [kept[-1].id, kept[0].id]
    ordered += sorted((row.id for row in kept[1:-1]), key=lambda row_id: -ratios[row_id])
    return tuple(dict.fromkeys(ordered))[:limit]


def score_scale(rows: Sequence[RowGlance], headroom: float) -> Scale:
    """Limits that show every champion and nearly all else; `headroom` is the part of the height kept free for labels.

    One absurd discard must not flatten the staircase: beyond the champions the scale reaches out by at most the
    champions' own span, or a quarter.
    """
    kept = sorted(row.score for row in chain(rows) if row.score)
    others = sorted(row.score for row in rows if has_score(row) and row.score)
    if not others:
        return Scale(low=0.5, high=1.5, is_log=False)
    low_kept, high_kept = (kept[0], kept[-1]) if kept else (_part(others, 0.1), _part(others, 0.9))
    reach = max(1.25, high_kept / low_kept)
    low = min(low_kept, max(_part(others, 0.02), low_kept / reach))
    high = max(high_kept, min(_part(others, 0.98), high_kept * reach))
    if high / low < 1.02:
        low, high = low / 1.02, high * 1.02
    if high / low > LOG_FROM_RATIO:
        span = math.log(high / low)
        return Scale(low=low * math.exp(-0.05 * span), high=high * math.exp(headroom * span), is_log=True)
    span = high - low
    return Scale(low=low - 0.05 * span, high=high + headroom * span, is_log=False)


def _part(ascending: Sequence[float], part: float) -> float:
    return ascending[min(len(ascending) - 1, int(part * len(ascending)))]


def rug_lanes(rows: Sequence[RowGlance]) -> dict[str, list[RowGlance]]:
    """Rows without a trusted score, by the lane they are shown in; a lane without rows is left out."""
    lanes: dict[str, list[RowGlance]] = {"crash": [], "invalid": [], "wrong": [], "no score": []}
    names = {Status.CRASH: "crash", Status.INVALID: "invalid", Status.DISCARD: "wrong"}
    for row in rows:
        if not has_score(row):
            lanes[names.get(row.status, "no score")].append(row)
    return {name: held for name, held in lanes.items() if held}
