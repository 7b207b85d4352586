"""The hypotheses on the progress chart. They are data: drawn with math parsing off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mjolnir.render.chart_data import LABEL_CHARACTERS, Picture, labelled_ids
from mjolnir.render.label_layout import Box, Placed, Wanted, place_labels
from mjolnir.render.number import step_text
from mjolnir.render.style import Palette
from mjolnir.render.text import one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LABEL_POINTS = 8.5


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedText:
    """A label and its place in pixels."""

    text: str
    place: Placed


def arrange_labels(axes: Axes, picture: Picture) -> list[PlacedText]:
    """The hypotheses of the champions that matter most, each where it covers nothing."""
    data, kept = picture.data, {row.id: row for row in picture.kept}
    texts: dict[int, str] = {}
    for row_id in labelled_ids(data.rows):
        gain = f" {step_text(data.gains[row_id])}" if row_id in data.gains else ""
        # The mark keeps "#7 +3.1 %" on the left of a hypothesis in a script that runs from right to left.
        texts[row_id] = f"\u200e#{row_id}{gain}  {one_line(data.hypotheses.get(row_id), LABEL_CHARACTERS)}".rstrip()
    points = {i: axes.transData.transform((i, row.score or 1.0)) for i, row in kept.items()}
    wanted = [Wanted(key=i, x=points[i][0], y=points[i][1], **_measure(axes, text)) for i, text in texts.items()]
    box = axes.get_window_extent()
    area: Box = (box.x0 + 2, box.y0 + 2, box.x1, box.y1)
    placed = place_labels(wanted, area, _taken(list(points.values()), box.x1))
    return [PlacedText(text=texts[place.key], place=place) for place in placed]


def draw_labels(axes: Axes, labels: Sequence[PlacedText], palette: Palette) -> None:
    """Each label on a veil of the ground's colour, and the line to its point."""
    back = axes.transData.inverted()
    for label in labels:
        x, y = back.transform(label.place.box[:2])
        veil = dict(facecolor=palette.panel, alpha=0.75, edgecolor="none", pad=0.8)
        axes.text(
            x,
            y,
            label.text,
            fontsize=_LABEL_POINTS,
            color=palette.ink,
            va="bottom",
            parse_math=False,
            zorder=7,
            bbox=veil,
        )
        start, end = back.transform(label.place.leader[:2]), back.transform(label.place.leader[2:])
        axes.plot([start[0], end[0]], [start[1], end[1]], color=palette.ink_dim, linewidth=0.8, zorder=4.5)


def _measure(axes: Axes, text: str) -> dict[str, float]:
    """Width and height of a label in pixels, as the renderer will draw it."""
    drawn = axes.text(0, 0, text, fontsize=_LABEL_POINTS, parse_math=False)
    extent = drawn.get_window_extent()
    drawn.remove()
    return {"width": extent.width, "height": extent.height}


def _taken(points: Sequence[Any], right: float) -> list[Box]:
    """Markers and steps of the staircase, as boxes in pixels."""
    boxes: list[Box] = [(x - 6, y - 6, x + 6, y + 6) for x, y in points]
    for (x, y), (next_x, next_y) in zip(points, [*points[1:], (right, points[-1][1])] if points else [], strict=True):
        boxes.append((x, y - 2, next_x, y + 2))
        boxes.append((next_x - 2, min(y, next_y), next_x + 2, max(y, next_y)))
    return boxes
