"""A run as files to commit: research/runs/TAG/ with the ledger, its views, SUMMARY.md, the charts and every diff."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from mjolnir.core.model import Experiment, RowGlance
from mjolnir.core.progress import baseline, champion, confirmed_gain, counts_by_status, kept_chain
from mjolnir.errors import Refused
from mjolnir.loop.chart import RUNS, make_chart_data
from mjolnir.loop.experiment_view import read_diff
from mjolnir.render.chart import draw_progress
from mjolnir.render.markdown import Summary, summary_markdown
from mjolnir.render.spreadsheet import ledger_csv
from mjolnir.store.atomic import disk_errors, make_folder
from mjolnir.store.codec import decode_row, decode_rows, decode_view_row, decode_view_rows
from mjolnir.store.git import Git
from mjolnir.store.inflight import identify_process
from mjolnir.store.ledger import open_ledger
from mjolnir.store.ledger_files import find_tag, ledger_files, ledger_owner, live_ledger
from mjolnir.store.row_file import RowFile
from mjolnir.store.run_state import list_tags, read_run_state
from mjolnir.store.tag import require_tag
from mjolnir.store.view import format_rows
from mjolnir.targets.protocol import Observe, Progress

_CSV = "ledger.csv"


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """What was written: `files` are names in `folder`, `notices` sentences for the user."""

    folder: Path
    rows: int
    files: tuple[str, ...]
    notices: tuple[str, ...]


def export_run(git: Git, tag: str | None, *, csv: bool, observe: Observe) -> Exported:
    """Write research/runs/TAG/, whole or not at all the first time, file by file when it is there already.

    Raises UsageFault for a bad tag, Refused E_LEDGER (nothing to export, another run's ledger, a damaged one),
    E_DISK_FULL or E_READ_ONLY.
    """
    name, source, notices = _find_run(git, tag)
    folder = git.root / RUNS / name
    _require_folders(git.root, folder)
    rows = source.decode_all(decode_rows, decode_row)
    if not rows:
        raise Refused("E_LEDGER", f"{source.shown} has no rows to export", f"mjolnir autoresearch init {name}")
    diffs, missing = _read_diffs(git, name, rows, observe)
    if missing:
        notices.append(f"{missing:,} experiments have no diff: their commits are not in this repository")
    files = {
        "ledger.jsonl": b"".join(source.blocks()),
        "ledger.tsv": format_rows(source.decode_all(decode_view_rows, decode_view_row)),
        **{f"diffs/{row_id}.diff": text.encode("utf-8", "replace") for row_id, text in diffs.items()},
        **{f"progress{suffix}.png": picture for suffix, picture in _draw(name, rows).items()},
        "SUMMARY.md": summary_markdown(_summary(name, rows, frozenset(diffs))).encode("utf-8", "replace"),
    }
    if csv or (folder / _CSV).is_file():
        files[_CSV] = ledger_csv(rows).encode("utf-8", "replace")
    _write(folder, files)
    return Exported(folder=folder, rows=len(rows), files=tuple(sorted(files)), notices=tuple(notices))


def _find_run(git: Git, tag: str | None) -> tuple[str, RowFile, list[str]]:
    """Name, rows and notices of the run: the work tree's ledger, else the mirror of the run asked for."""
    name = require_tag(tag) if tag is not None else find_tag(git.root, git.branch())
    if name is None:
        raise Refused("E_LEDGER", "there is no run here to export", "mjolnir autoresearch init TAG")
    live = live_ledger(git.root)
    if ledger_owner(git.root) in (None, name):
        ledger = open_ledger(git.root, git.common_dir, tag=name)  # restores what was lost
        problem = [f"{ledger.problem.message}; {ledger.problem.hint}"] if ledger.problem is not None else []
        return name, live, [*ledger.notices, *problem]
    mirror = ledger_files(git.root, git.common_dir, name).mirror
    if mirror.size_bytes():
        return name, mirror, []
    first = live.first_line()
    if first is not None and decode_row(first).schema is None:
        return name, live, []  # rows of mjolnir-cli 0.2.0 name no run: the tag names the folder
    known = list_tags(git.common_dir)
    hint = f"mjolnir autoresearch export --tag {known[-1]}" if known else "mjolnir autoresearch export, without --tag"
    raise Refused("E_LEDGER", f"there is no run {name} with rows in this repository", hint)


def _require_folders(root: Path, folder: Path) -> None:
    """No link on the way: what is exported must land in this repository."""
    for path in (root / RUNS, folder, folder / "diffs"):
        try:
            is_folder = stat.S_ISDIR(path.lstat().st_mode)
        except FileNotFoundError:
            continue
        if not is_folder:
            raise Refused("E_LEDGER", f"{path} is not a folder", f"move it away: mv {path} {path}.aside")


def _read_diffs(git: Git, tag: str, rows: list[Experiment], observe: Observe) -> tuple[dict[int, str], int]:
    """{id: the kernel's change} of every experiment that changed it, and how many there are whose commits are gone."""
    try:
        kernel = read_run_state(git.common_dir, tag).kernel
    except Refused:
        kernel = "."
    found: dict[int, str] = {}
    missing = 0
    before: Experiment | None = None
    for done, row in enumerate(rows):
        observe(Progress(stage="diffs", detail=f"#{row.id}", done=done, total=len(rows)))
        if row.champion_commit is None and row.parent_full is None and before is not None:
            row = replace(row, champion_commit=before.commit)  # version 0 rows do not say what they were judged by
        text = read_diff(git, row, kernel)
        if text:
            found[row.id] = text
        missing += text is None and before is not None
        if kept_chain([row]):
            before = row
    return found, missing


def _draw(tag: str, rows: list[Experiment]) -> dict[str, bytes]:
    glances = [RowGlance(id=row.id, status=row.status, score=row.score) for row in rows]
    return draw_progress(make_chart_data(tag, glances, kept_chain(rows)))


def _summary(tag: str, rows: list[Experiment], diffs: frozenset[int]) -> Summary:
    kept = kept_chain(rows)
    return Summary(
        tag=tag,
        rows=rows,
        counts={status.value: count for status, count in counts_by_status(rows).items() if count},
        baseline=baseline(rows),
        champion=champion(rows),
        confirmed_gain=confirmed_gain(kept) if len(kept) > 1 else None,
        diffs=diffs,
    )


def _write(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write everything into a folder beside, then rename it; into a folder that is there, rename file by file.

    A full disk or a folder without write permission is met before anything of an earlier export is touched, and files
    that somebody added stay.
    """
    scratch = folder.with_name(f".{folder.name}.{os.getpid()}.tmp")
    _remove_leftovers(folder)
    with disk_errors(folder):
        try:
            make_folder(scratch / "diffs")
            for name, data in files.items():
                (scratch / name).write_bytes(data)
            if _took_place(scratch, folder):
                return
            (folder / "diffs").mkdir(exist_ok=True)
            for name in files:
                (scratch / name).replace(folder / name)
            for path in (folder / "diffs").glob("*.diff"):
                if f"diffs/{path.name}" not in files:
                    path.unlink()
        finally:
            shutil.rmtree(scratch, ignore_errors=True)


def _took_place(scratch: Path, folder: Path) -> bool:
    """True when `scratch` became `folder`; False when that is there already, perhaps since a moment ago."""
    if folder.exists():
        return False
    try:
        scratch.rename(folder)
    except OSError:
        if folder.exists():
            return False
        raise
    return True


def _remove_leftovers(folder: Path) -> None:
    """What an export that was killed left beside `folder`."""
    for left in folder.parent.glob(f".{folder.name}.*.tmp"):
        pid = left.name.split(".")[-2]
        if pid.isdecimal() and not identify_process(int(pid)):
            shutil.rmtree(left, ignore_errors=True)
