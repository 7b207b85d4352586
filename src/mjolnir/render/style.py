"""One colour, one glyph and one marker a status, for the terminal and for charts.

The colours are Okabe and Ito's (jfly.uni-koeln.de/color, 2002), which stay apart under the common kinds of colour
blindness; no meaning hangs on a colour alone: the word or the shape stands beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mjolnir.core.model import Status


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusStyle:
    """`terminal` is a Rich style, `marker` a matplotlib marker, `light` and `dark` colours on those grounds."""

    glyph: str
    terminal: str
    marker: str
    light: str
    dark: str


STATUS_STYLES: Mapping[Status, StatusStyle] = {
    Status.BASELINE: StatusStyle(glyph="◆", terminal="cyan", marker="D", light="#0072B2", dark="#56B4E9"),
    Status.KEEP: StatusStyle(glyph="✓", terminal="bold green", marker="o", light="#00805E", dark="#1FC79A"),
    Status.DISCARD: StatusStyle(glyph="·", terminal="yellow", marker="s", light="#7A7A7A", dark="#8B949E"),
    Status.NOISY: StatusStyle(glyph="~", terminal="magenta", marker="^", light="#B0578D", dark="#CC79A7"),
    Status.CRASH: StatusStyle(glyph="✗", terminal="bold red", marker="x", light="#C24E00", dark="#F0813A"),
    Status.INVALID: StatusStyle(glyph="!", terminal="red", marker="P", light="#8F6B00", dark="#E6B800"),
}
CHAMPION_GLYPH = "★"


@dataclass(frozen=True, slots=True, kw_only=True)
class Palette:
    """The surfaces of a chart on one ground. `suffix` joins the file's name: progress-dark.png."""

    is_dark: bool
    suffix: str
    ground: str
    panel: str
    ink: str
    ink_dim: str
    grid: str

    def of(self, status: Status) -> str:
        """The colour of a status on this ground."""
        style = STATUS_STYLES[status]
        return style.dark if self.is_dark else style.light


LIGHT = Palette(
    is_dark=False, suffix="", ground="#FFFFFF", panel="#FFFFFF", ink="#16191D", ink_dim="#5B636E", grid="#E3E6EA"
)
DARK = Palette(
    is_dark=True, suffix="-dark", ground="#0D1117", panel="#0D1117", ink="#E6EDF3", ink_dim="#9AA4AF", grid="#262D36"
)
PALETTES = (LIGHT, DARK)
