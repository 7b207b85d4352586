"""Places labels beside points so that no label covers another, a marker or the staircase. Pure geometry in pixels."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

Box = tuple[float, float, float, float]
"""Left, bottom, right, top in pixels."""
_ROWS = 9
"""Heights tried on each side of a point; a label further away than that is not read as the point's."""
_PADDING = 3.0
_CROSSING_COST = 60.0
"""A leader that crosses a step or a marker is as bad as one this many pixels longer."""
_BELOW_COST = 8.0
"""Below the staircase is where the discards lie: above is better where both are near."""
_SAMPLE_PIXELS = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A label of `width` x `height` pixels for the point at `x`, `y`."""

    key: int
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """`box`: where the label stands; `leader`: the line x, y, x, y from its point to it."""

    key: int
    box: Box
    leader: Box


def place_labels(wanted: Sequence[Wanted], area: Box, taken: Sequence[Box]) -> list[Placed]:
    """A place for each label, the first ones first; a label that finds none is left out.

    `area` bounds the labels, `taken` are boxes they keep clear of (markers, steps of the staircase).
    """
    placed: list[Placed] = []
    for label in wanted:
        near = [box for box in taken if _overlap(box, _reach(label))]
        best, best_cost = None, math.inf
        for candidate in sorted(_candidates(label, area), key=_distance):
            if _distance(candidate) >= best_cost:
                break
            if _is_free(candidate, near, placed):
                cost = _distance(candidate) + _CROSSING_COST * _crossings(candidate, near)
                best, best_cost = (candidate, cost) if cost < best_cost else (best, best_cost)
        if best is not None:
            placed.append(best)
    return placed


def _candidates(label: Wanted, area: Box) -> Iterator[Placed]:
    """Above and below the point, ending at it, starting at it, or further to a side with a slanted leader."""
    lefts = [label.x - 4, label.x - label.width + 4]
    for away in (16, 48, 96, 160):
        lefts += [label.x + away, label.x - label.width - away]
    for sign in (1, -1):
        for row in range(_ROWS):
            gap = 9 + row * (label.height + 4)
            bottom = label.y + gap if sign > 0 else label.y - gap - label.height
            for left in lefts:
                box = (left, bottom, left + label.width, bottom + label.height)
                if box[0] >= area[0] and box[2] <= area[2] and box[1] >= area[1] and box[3] <= area[3]:
                    end_x = min(max(label.x, left), left + label.width)
                    leader = (label.x, label.y, end_x, bottom if sign > 0 else bottom + label.height)
                    yield Placed(key=label.key, box=box, leader=leader)


def _is_free(candidate: Placed, near: Sequence[Box], placed: Sequence[Placed]) -> bool:
    box = _grown(candidate.box)
    if any(_overlap(box, other) for other in near):
        return False
    return not any(
        _overlap(box, other.box) or _crosses(candidate.leader, _grown(other.box)) or _crosses(other.leader, box)
        for other in placed
    )


def _crossings(candidate: Placed, near: Sequence[Box]) -> int:
    """Boxes that the leader runs through, its own point's marker and steps left out."""
    x, y = candidate.leader[:2]
    own = (x - 1, y - 1, x + 1, y + 1)
    return sum(_crosses(candidate.leader, box) for box in near if not _overlap(own, box))


def _distance(candidate: Placed) -> float:
    x, y, end_x, end_y = candidate.leader
    return math.hypot(end_x - x, end_y - y) + (_BELOW_COST if end_y < y else 0.0)


def _reach(label: Wanted) -> Box:
    aside, up = label.width + 170, 9 + (_ROWS + 1) * (label.height + 4)
    return (label.x - aside, label.y - up, label.x + aside, label.y + up)


def _grown(box: Box) -> Box:
    return (box[0] - _PADDING, box[1] - 1, box[2] + _PADDING, box[3] + 1)


def _overlap(a: Box, b: Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def _crosses(line: Box, box: Box) -> bool:
    """True where a straight line runs through a box, seen at points a few pixels apart."""
    x, y, end_x, end_y = line
    if not _overlap((min(x, end_x) - 1, min(y, end_y) - 1, max(x, end_x) + 1, max(y, end_y) + 1), box):
        return False
    steps = max(1, int(math.hypot(end_x - x, end_y - y) / _SAMPLE_PIXELS))
    return any(
        box[0] < x + (end_x - x) * i / steps < box[2] and box[1] < y + (end_y - y) * i / steps < box[3]
        for i in range(1, steps + 1)
    )
