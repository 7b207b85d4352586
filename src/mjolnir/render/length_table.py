"""One line a context length: both times, the speedup, the change against the champion, and how far from the floor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mjolnir.core.lengths import length_label
from mjolnir.core.model import Experiment
from mjolnir.render.number import DASH, gain_text, per_length, relative_per_length, times_text, us_text

_HEADER = f"{'L':>6} {'reference us':>13} {'kernel us':>12} {'speedup':>9} {'vs champion':>12}"


def length_lines(
    row: Experiment,
    *,
    kv_bytes: Mapping[int, int] | None = None,
    bandwidth_gbps: float = 0.0,
    max_rows: int = 1000,
) -> Sequence[str]:
    """The table of a row's lengths, header first; empty when nothing was timed.

    `kv_bytes` by L in tokens: what a call must read; `bandwidth_gbps` 0: not known. Of more than `max_rows` lengths
    the slowest and the fastest are shown.
    """
    speedup, relative = per_length(row.per_L), relative_per_length(row)
    reference_us, kernel_us = per_length(row.fi_us), per_length(row.mj_us)
    if not speedup:
        return []
    lines = [_HEADER + _floor_header(kv_bytes, bandwidth_gbps)]
    shown = _telling(speedup, relative, max_rows)
    for tokens in shown:
        lines.append(
            f"{length_label(tokens):>6} {us_text(reference_us.get(tokens)):>13} {us_text(kernel_us.get(tokens)):>12} "
            f"{times_text(speedup[tokens]):>9} {gain_text(relative.get(tokens)):>12}"
            + _floor_cells(tokens, kernel_us.get(tokens), kv_bytes, bandwidth_gbps)
            + ("  set aside" if tokens in row.set_aside else "")
        )
    if len(shown) < len(speedup):
        lines.append(f"  ... {len(speedup) - len(shown)} more lengths: mjolnir autoresearch show {row.id}")
    return lines


def _telling(speedup: Mapping[int, float], relative: Mapping[int, float], max_rows: int) -> list[int]:
    """The lengths to show; when there is no room for all, the slowest and the fastest against the champion."""
    if len(speedup) <= max_rows:
        return list(speedup)
    by_ratio = sorted(speedup, key=lambda tokens: relative.get(tokens, speedup[tokens]))
    half = max_rows // 2
    return sorted({*by_ratio[:half], *by_ratio[-half:]})


def _floor_header(kv_bytes: Mapping[int, int] | None, bandwidth_gbps: float) -> str:
    if not kv_bytes:
        return ""
    return f" {'GB/s':>8}" + (f" {'% of floor':>11}" if bandwidth_gbps > 0 else "")


def _floor_cells(
    tokens: int, kernel_us: float | None, kv_bytes: Mapping[int, int] | None, bandwidth_gbps: float
) -> str:
    """Bytes that must be read over the time taken; the floor is the time at the device's bandwidth."""
    if not kv_bytes:
        return ""
    size_bytes = kv_bytes.get(tokens)
    gbps = size_bytes / kernel_us / 1e3 if size_bytes and kernel_us else None
    cells = f" {gbps:>8.2f}" if gbps is not None else f" {DASH:>8}"
    if bandwidth_gbps > 0:
        cells += f" {100 * gbps / bandwidth_gbps:>9.0f} %" if gbps is not None else f" {DASH:>11}"
    return cells
