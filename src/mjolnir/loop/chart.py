"""The progress chart of a run: which rows it shows, and where the files go."""

from __future__ import annotations

import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mjolnir.core.model import Experiment, RowGlance
from mjolnir.core.per_length import read_per_length
from mjolnir.core.progress import baseline, champion, confirmed_gain, step_gains
from mjolnir.errors import UsageFault
from mjolnir.loop.kept_rows import read_kept
from mjolnir.render.chart import draw_progress
from mjolnir.render.chart_data import ChartData, labelled_ids
from mjolnir.store.atomic import disk_errors, make_folder, write_atomic
from mjolnir.store.codec import decode_glance, decode_glances
from mjolnir.store.git import Git
from mjolnir.store.ledger_files import RESEARCH, find_tag, live_ledger
from mjolnir.store.row_file import RowFile

RUNS = f"{RESEARCH}/runs"
_SUFFIXES = (".png", ".svg")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartSource:
    """The rows a chart is drawn from: `title` is the run's tag."""

    title: str
    file: RowFile


def find_chart_source(git: Git) -> ChartSource:
    """The live ledger when it has rows, else the newest exported run, else the live ledger without a row.

    Raises Refused E_LEDGER where the ledger cannot be read.
    """
    live = live_ledger(git.root)
    tag = find_tag(git.root, git.branch())
    if not live.size_bytes():
        exported = _newest_exported(git.root)
        if exported is not None:
            return exported
    return ChartSource(title=tag or "autoresearch", file=live)


def _newest_exported(root: Path) -> ChartSource | None:
    found = []
    for path in (root / RUNS).glob("[!.]*/ledger.jsonl"):
        info = path.lstat()
        if stat.S_ISREG(info.st_mode) and info.st_size:
            found.append((info.st_mtime_ns, path))
    if not found:
        return None
    _, path = max(found)
    return ChartSource(title=path.parent.name, file=RowFile(path=path, shown=str(path.relative_to(root))))


def read_chart_data(source: ChartSource) -> ChartData:
    """What the chart shows of a file of rows. Raises Refused E_LEDGER with file and line."""
    glances = source.file.decode_all(decode_glances, decode_glance)
    kept = [row for row, _ in read_kept(source.file, glances)]
    return make_chart_data(source.title, glances, kept)


def make_chart_data(title: str, glances: Sequence[RowGlance], kept: Sequence[Experiment]) -> ChartData:
    """`kept` are the whole rows of the chain of champions among `glances`."""
    shown = set(labelled_ids(glances))
    first, last = baseline(kept), champion(kept)
    return ChartData(
        title=title,
        rows=glances,
        hypotheses={row.id: row.hypothesis for row in kept if row.id in shown},
        gains={row_id: 1 + gain for row_id, gain in step_gains(kept).items() if row_id in shown},
        baseline_per_length=_per_length(first),
        champion_per_length=_per_length(last),
        confirmed_gain=confirmed_gain(kept) if len(kept) > 1 else None,
    )


def _per_length(row: Experiment | None) -> dict[int, float]:
    """A row's speedups by L in tokens; empty for one that has no usable ones, as some version 0 rows."""
    try:
        return read_per_length(row.per_L if row else None, "per_L")
    except ValueError:
        return {}


def chart_path(root: Path, out: Path | None, *, svg: bool) -> Path:
    """Where the light chart goes; the dark one stands beside it. Raises UsageFault for an `out` that makes no sense."""
    if out is None:
        return root / RESEARCH / ("progress.svg" if svg else "progress.png")
    if out.suffix.lower() not in _SUFFIXES or (svg and out.suffix.lower() != ".svg"):
        raise UsageFault(
            f"--out {out}: the name does not say which picture", f"--out {out.stem}{'.svg' if svg else '.png'}"
        )
    if out.is_dir() or not out.parent.is_dir():
        raise UsageFault(f"--out {out}: {'a folder' if out.is_dir() else 'its folder does not exist'}", "name a file")
    return out


def write_charts(data: ChartData, path: Path) -> list[Path]:
    """Draw `data` on both grounds; the suffix of `path` decides between PNG and SVG. Returns the files written.

    Raises Refused E_DISK_FULL or E_READ_ONLY.
    """
    drawn = draw_progress(data, svg=path.suffix.lower() == ".svg")
    written = []
    with disk_errors(path):
        make_folder(path.parent)
        for suffix, picture in drawn.items():
            written.append(path.with_name(f"{path.stem}{suffix}{path.suffix}"))
            write_atomic(written[-1], picture, is_durable=False)
    return written
