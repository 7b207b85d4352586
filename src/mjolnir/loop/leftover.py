"""What a killed evaluation left: it is told, never measured from; the commit may simply be evaluated again."""

from __future__ import annotations

from pathlib import Path

from mjolnir.loop.surroundings import Surroundings
from mjolnir.store.foreign_text import one_line
from mjolnir.store.inflight import clear_inflight, read_inflight


def report_leftover(root: Path, around: Surroundings) -> None:
    """Tell of an evaluation whose process is gone, and clear its mark away; its log stays."""
    left = read_inflight(root)
    if left is None or left.is_alive():
        return
    log = f"; its log: {one_line(left.log)}" if left.log else ""
    around.notice(
        f"an evaluation of {one_line(left.commit, 12)} ({one_line(left.hypothesis, 80)}) ended in stage "
        f"{one_line(left.stage, 40)} when its process died: nothing was recorded, evaluate the commit again{log}"
    )
    clear_inflight(root)
