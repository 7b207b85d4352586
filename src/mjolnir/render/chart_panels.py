"""The panels of the progress chart. Every text that comes from a ledger is drawn with math parsing off: it is data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mjolnir.core.lengths import length_label
from mjolnir.core.model import RowGlance, Status
from mjolnir.render.chart_data import ChartData, Picture
from mjolnir.render.number import step_text, times_text
from mjolnir.render.style import STATUS_STYLES, Palette

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MAX_DETAILED_LENGTHS = 12
_FEW_ROWS = 12
_LANE_STATUS = {"crash": Status.CRASH, "invalid": Status.INVALID, "wrong": Status.DISCARD, "no score": Status.NOISY}
_WORDS = {
    Status.BASELINE: "baseline",
    Status.KEEP: "kept",
    Status.DISCARD: "discarded",
    Status.NOISY: "noisy",
    Status.CRASH: "crashed",
    Status.INVALID: "invalid",
}


def _marker(status: Status, count: int, palette: Palette, crowd: int = 0) -> dict[str, Any]:
    """Marker of a status: smaller and fainter among many experiments (`count`), smaller for a `crowd` of champions."""
    style, colour = STATUS_STYLES[status], palette.of(status)
    if status in (Status.BASELINE, Status.KEEP):
        look: dict[str, Any] = dict(marker=style.marker, markersize=8.5, color=colour, markeredgecolor=palette.panel)
        return look | (dict(markersize=4.0, markeredgewidth=0.3) if crowd > 150 else {})
    size, alpha = (5.5, 0.75) if count <= 100 else (4.0, 0.5) if count <= 1000 else (2.6, 0.4)
    look = dict(marker=style.marker, markersize=size, color=colour, alpha=alpha, markeredgewidth=0)
    if status is Status.NOISY:
        look |= dict(markerfacecolor="none", markeredgecolor=colour, markeredgewidth=1.0, alpha=min(1.0, alpha + 0.3))
    if style.marker == "x":
        look |= dict(markeredgewidth=1.4 if count <= 1000 else 0.8)
    return look


def draw_scores(axes: Axes, picture: Picture, palette: Palette) -> None:
    """Every scored experiment, and the champion of each moment as a staircase (a lineage, never the maximum)."""
    rows, kept = picture.data.rows, picture.kept
    _scale_axes(axes, picture, palette)
    for status, shown in picture.others.items():
        _plot(axes, shown, status, len(rows), palette)
    # What lies beyond the scale is a caret at its edge: it is there, and it does not flatten the rest.
    for edge, marker, beyond in ((0.012, 7, picture.below), (0.988, 6, picture.above)):
        look: dict[str, Any] = dict(marker=marker, markersize=5, color=palette.ink_dim, zorder=3)
        look |= dict(alpha=0.7 if len(beyond) <= 50 else 0.3, transform=axes.get_xaxis_transform())
        axes.plot(beyond, [edge] * len(beyond), linestyle="none", **look)
    if kept:
        ids = [row.id for row in kept] + [rows[-1].id]
        levels = [row.score or 0.0 for row in kept] + [kept[-1].score or 0.0]
        axes.step(ids, levels, where="post", color=palette.of(Status.KEEP), linewidth=2.0, zorder=4)
    for status in (Status.KEEP, Status.BASELINE):
        _plot(axes, [row for row in kept if row.status is status], status, len(rows), palette, zorder=5)


def _scale_axes(axes: Axes, picture: Picture, palette: Palette) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

    rows, scale = picture.data.rows, picture.scale
    axes.set_xlim(rows[0].id - 0.015 * len(rows) - 0.5, rows[-1].id + 0.015 * len(rows) + 0.5)
    if scale.is_log:
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 1.5, 2.0, 3.0, 5.0, 7.0)))
        axes.yaxis.set_minor_locator(NullLocator())
    axes.set_ylim(scale.low, scale.high)
    if len(rows) <= _FEW_ROWS:
        axes.set_xticks([row.id for row in rows])
    else:
        axes.xaxis.set_major_locator(MaxNLocator(nbins=10, steps=[1, 2, 5, 10], integer=True))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.4g}x"))
    axes.set_xlabel("experiment", color=palette.ink_dim, fontsize=10)
    axes.set_ylabel("speedup against the reference", color=palette.ink_dim, fontsize=10)


def _plot(axes: Axes, rows: Sequence[RowGlance], status: Status, count: int, palette: Palette, zorder: int = 3) -> None:
    if rows:
        ids, levels = [row.id for row in rows], [row.score or 0.0 for row in rows]
        axes.plot(ids, levels, linestyle="none", zorder=zorder, **_marker(status, count, palette, len(rows)))


def draw_rug(axes: Axes, picture: Picture, palette: Palette) -> None:
    """Experiments without a score, one lane a kind: when they happened, and how many."""
    lanes, count = picture.lanes, len(picture.data.rows)
    axes.set_ylim(-0.6, len(lanes) - 0.4)
    axes.invert_yaxis()
    axes.grid(False)
    for level, (name, rows) in enumerate(lanes.items()):
        look = _marker(_LANE_STATUS[name], count, palette)
        if count > 1000:
            look |= dict(marker="|", markersize=7, markeredgewidth=0.7, markeredgecolor=look["color"])
        axes.plot([row.id for row in rows], [level] * len(rows), linestyle="none", **look)
    axes.set_yticks(range(len(lanes)), [f"{name} {len(rows):,}" for name, rows in lanes.items()])
    axes.tick_params(axis="y", length=0, labelsize=8)
    axes.set_xlabel("experiment", color=palette.ink_dim, fontsize=10)


def draw_legend(figure: Figure, picture: Picture, palette: Palette) -> None:
    """Shape, colour, word and count of each status that occurs, and how many points lie beyond the scale."""
    from matplotlib.lines import Line2D

    handles = []
    for status, count in picture.counts.items():
        look = _marker(status, 1, palette) | dict(markersize=7)
        handles.append(Line2D([], [], linestyle="none", label=f"{_WORDS[status]} {count:,}", **look))
    outside = len(picture.below) + len(picture.above)
    if outside:
        look = dict(marker="v", markersize=6, color=palette.ink_dim)
        handles.append(Line2D([], [], linestyle="none", label=f"beyond the scale {outside:,}", **look))
    figure.legend(
        handles=handles,
        loc="upper left",
        bbox_to_anchor=(0.053, 0.915),
        ncols=len(handles),
        frameon=False,
        fontsize=9.5,
        labelcolor=palette.ink,
        handletextpad=0.2,
        columnspacing=1.6,
    )


def draw_split(axes: Axes, picture: Picture, palette: Palette) -> None:
    """The champion's speedup over the baseline's, one bar an L, from 1: up is faster."""
    data, kept = picture.data, picture.kept
    before, after = data.baseline_per_length, data.champion_per_length
    lengths = sorted(tokens for tokens in after if before.get(tokens))
    if len(kept) < 2 or not lengths:
        axes.set_axis_off()
        text = "no experiment was kept yet: nothing to compare with the baseline per L"
        axes.text(0.5, 0.5, text, transform=axes.transAxes, ha="center", va="center", color=palette.ink_dim)
        return
    ratios = [after[tokens] / before[tokens] for tokens in lengths]
    faster, slower = palette.of(Status.KEEP), palette.of(Status.CRASH)
    bars = axes.bar(
        range(len(lengths)),
        [ratio - 1 for ratio in ratios],
        bottom=1,
        width=0.62,
        color=[faster if ratio >= 1 else slower for ratio in ratios],
    )
    for bar, ratio in zip(bars, ratios, strict=True):
        if ratio < 1:
            bar.set(hatch="///", edgecolor=palette.panel, linewidth=0)
    axes.axhline(1, color=palette.ink_dim, linewidth=1)
    low, high = min(1.0, *ratios), max(1.0, *ratios)
    room = 0.32 * max(high - low, 0.05)
    axes.set_ylim(low - (room if low < 1 else 0), high + room)
    _name_lengths(axes, lengths, ratios, data, palette)
    title = f"champion #{kept[-1].id} against baseline #{kept[0].id}, per context length"
    axes.set_title(title, loc="left", color=palette.ink, fontsize=11, fontweight="bold", pad=8)


def _name_lengths(
    axes: Axes, lengths: Sequence[int], ratios: Sequence[float], data: ChartData, palette: Palette
) -> None:
    from matplotlib.ticker import FuncFormatter

    names = [length_label(tokens) for tokens in lengths]
    if len(lengths) <= _MAX_DETAILED_LENGTHS:
        names = [
            f"{name}\n{times_text(data.baseline_per_length[tokens])} → {times_text(data.champion_per_length[tokens])}"
            for name, tokens in zip(names, lengths, strict=True)
        ]
        for place, ratio in enumerate(ratios):
            axes.annotate(
                step_text(ratio),
                (place, ratio),
                xytext=(0, 3 if ratio >= 1 else -3),
                textcoords="offset points",
                ha="center",
                va="bottom" if ratio >= 1 else "top",
                color=palette.ink,
                fontsize=9,
            )
    axes.set_xticks(range(len(lengths)), names)
    axes.set_xlim(-0.6, len(lengths) - 0.4)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.4g}x"))
    axes.locator_params(axis="y", nbins=4)
    axes.tick_params(axis="x", length=0)
