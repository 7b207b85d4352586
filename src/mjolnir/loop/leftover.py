"""What a killed measurement left: it is told, never measured from; the same command may simply be run again."""

from __future__ import annotations

from pathlib import Path

from mjolnir.loop.surroundings import Surroundings
from mjolnir.store.foreign_text import one_line
from mjolnir.store.inflight import clear_inflight, read_inflight

_COMMANDS = ("calibrate", "recheck")
"""Stages that are commands of their own, and evaluate nothing."""


def report_leftover(root: Path, around: Surroundings) -> None:
    """Tell of a measurement whose process is gone, and clear its mark away; its log stays."""
    left = read_inflight(root)
    if left is None or left.is_alive():
        return
    stage = one_line(left.stage, 40)
    if stage in _COMMANDS:
        what, again = f"a {stage} of the run", f"run it again: mjolnir autoresearch {stage}"
    else:
        what, again = f"an evaluation of {one_line(left.commit, 12)}", "evaluate the commit again"
    log = f"; its log: {one_line(left.log)}" if left.log else ""
    around.notice(
        f"{what} ({one_line(left.hypothesis, 80)}) ended in stage {stage} when its process died: "
        f"nothing was recorded, {again}{log}"
    )
    clear_inflight(root)
