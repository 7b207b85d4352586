"""The progress chart: every experiment by status, the staircase of champions, and where along L the gain lives.

matplotlib is imported inside the functions: nothing else in the tool pays for it. No pyplot: its global state costs
a third of the start and is never needed to write a file.
"""

from __future__ import annotations

import contextlib
import io
import os
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mjolnir.core.model import Status
from mjolnir.render.chart_data import ChartData, Picture, plan_picture
from mjolnir.render.chart_labels import PlacedText, arrange_labels, draw_labels
from mjolnir.render.chart_panels import draw_legend, draw_rug, draw_scores, draw_split
from mjolnir.render.number import gain_text, times_text
from mjolnir.render.style import PALETTES, Palette
from mjolnir.render.text import one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH_INCHES, HEIGHT_INCHES, DOTS_PER_INCH = 12.8, 8.0, 125
_HEADROOM = 0.2
_SETTINGS: dict[Any, Any] = {
    # Half of a chart's time goes into glyphs, a quarter of that into hinting that no eye misses at this size.
    "text.hinting": "none",
    "svg.fonttype": "none",
    "svg.hashsalt": "mjolnir",
    # What a user's own matplotlibrc may have set and this layout was not made for.
    "text.usetex": False,
    "font.family": ["sans-serif"],
    "path.sketch": None,
    "savefig.bbox": None,
    "savefig.transparent": False,
    "figure.autolayout": False,
    "figure.constrained_layout.use": False,
    "axes.formatter.use_mathtext": False,
}


def draw_progress(data: ChartData, *, svg: bool = False) -> dict[str, bytes]:
    """The chart on each ground, by the suffix of its file's name ("" and "-dark"): a PNG (1600 x 1000) or an SVG."""
    _prepare_environment()
    picture = plan_picture(data, _HEADROOM)
    drawn: dict[str, bytes] = {}
    labels = None
    with _quiet_glyphs():
        import matplotlib
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        with matplotlib.rc_context(_SETTINGS):
            for palette in PALETTES:
                figure = Figure(figsize=(WIDTH_INCHES, HEIGHT_INCHES), dpi=DOTS_PER_INCH, facecolor=palette.ground)
                FigureCanvasAgg(figure)
                labels = _compose(figure, picture, palette, labels)
                drawn[palette.suffix] = _svg_bytes(figure) if svg else _png_bytes(figure)
    return drawn


def _png_bytes(figure: Figure) -> bytes:
    buffer = io.BytesIO()
    # Level 3 takes half the time of the default and the file is a tenth larger.
    figure.savefig(buffer, format="png", pil_kwargs={"compress_level": 3}, metadata={"Software": None})
    return buffer.getvalue()


def _svg_bytes(figure: Figure) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    return buffer.getvalue()


def _prepare_environment() -> None:
    """matplotlib keeps its font list in a folder; where it cannot write there, it would rebuild the list each time."""
    os.environ.pop("MPLBACKEND", None)  # a wrong name there ends the import, and no backend of a user is used here
    if "MPLCONFIGDIR" in os.environ:
        return
    for base in (os.environ.get("XDG_CONFIG_HOME"), os.environ.get("HOME")):
        if base and os.access(base, os.W_OK):
            return
    folder = Path(tempfile.gettempdir()) / f"mjolnir-matplotlib-{os.getuid()}"
    with contextlib.suppress(OSError):
        folder.mkdir(mode=0o700, exist_ok=True)
        os.environ["MPLCONFIGDIR"] = str(folder)


@contextlib.contextmanager
def _quiet_glyphs() -> Iterator[None]:
    """A hypothesis may hold a letter that the font lacks: it shows as a box, and is not worth a page of warnings."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"Glyph .* missing from")
        warnings.filterwarnings("ignore", message=r"Matplotlib currently does not support")
        yield


def _compose(
    figure: Figure, picture: Picture, palette: Palette, labels: Sequence[PlacedText] | None
) -> Sequence[PlacedText]:
    """Fill the figure. `labels`: where they stand, None: find out; both grounds have them in the same places."""
    _title(figure, picture, palette)
    if not picture.data.rows:
        figure.text(0.5, 0.5, "start with: mjolnir autoresearch init TAG", ha="center", color=palette.ink_dim)
        return []
    rug_height = 0.022 * len(picture.lanes)
    scores = figure.add_axes((0.062, 0.33 + rug_height, 0.925, 0.53 - rug_height))
    rug = figure.add_axes((0.062, 0.325, 0.925, rug_height), sharex=scores) if picture.lanes else None
    split = figure.add_axes((0.062, 0.075, 0.925, 0.15))
    for axes in (scores, rug, split):
        if axes is not None:
            _dress(axes, palette)
    draw_scores(scores, picture, palette)
    if rug is not None:
        draw_rug(rug, picture, palette)
        scores.tick_params(labelbottom=False, bottom=False)
        scores.set_xlabel("")
        scores.spines["bottom"].set_visible(False)
    draw_split(split, picture, palette)
    draw_legend(figure, picture, palette)
    if labels is None:
        labels = arrange_labels(scores, picture)
    draw_labels(scores, labels, palette)
    return labels


def _title(figure: Figure, picture: Picture, palette: Palette) -> None:
    data, kept = picture.data, picture.kept
    keeps = picture.counts.get(Status.KEEP, 0)
    count = len(data.rows)
    head = f"{one_line(data.title, 60)}: no experiments yet"
    if count:
        head = f"{one_line(data.title, 60)}: {count:,} experiment{'' if count == 1 else 's'}, {keeps:,} kept"
    figure.text(0.062, 0.957, head, color=palette.ink, fontsize=16, fontweight="bold", parse_math=False)
    if kept:
        first, last = kept[0], kept[-1]
        below = f"speedup against the reference (geomean over L): {times_text(first.score)} at the baseline #{first.id}"
        if last.id != first.id:
            below += f", {times_text(last.score)} at the champion #{last.id}"
        if data.confirmed_gain is not None:
            below += f"; gain along the kept chain {gain_text(1 + data.confirmed_gain)}"
        figure.text(0.062, 0.925, below, color=palette.ink_dim, fontsize=10.5, parse_math=False)


def _dress(axes: Axes, palette: Palette) -> None:
    axes.set_facecolor(palette.panel)
    for side, spine in axes.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color(palette.grid)
    axes.tick_params(colors=palette.ink_dim, labelsize=9, length=3)
    axes.grid(axis="y", color=palette.grid, linewidth=0.8)
    axes.set_axisbelow(True)
