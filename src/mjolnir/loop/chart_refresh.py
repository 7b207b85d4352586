"""The progress chart after a kept experiment. A chart is a view: it never costs a row, nor an exit code."""

from __future__ import annotations

import contextlib
from pathlib import Path

from mjolnir.errors import MjolnirError


def refresh_chart(cwd: Path) -> None:
    """Draw research/progress.png and progress-dark.png anew; what goes wrong, or Ctrl-C, only leaves the old ones."""
    with contextlib.suppress(MjolnirError, OSError, ValueError, RuntimeError, ImportError, KeyboardInterrupt):
        from mjolnir.loop.chart import chart_path, find_chart_source, read_chart_data, write_charts
        from mjolnir.store.git import Git

        git = Git.find(cwd)
        write_charts(read_chart_data(find_chart_source(git)), chart_path(git.root, None, svg=False))
