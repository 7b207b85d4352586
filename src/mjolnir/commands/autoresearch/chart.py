"""`mjolnir autoresearch chart`: every experiment on one picture."""

from __future__ import annotations

from pathlib import Path

import typer

app = typer.Typer(add_completion=False)


@app.command(epilog="Example: mjolnir autoresearch chart --out progress.svg")
def chart(
    out: Path = typer.Option(None, "--out", metavar="F", help="The file to write; a dark one is written beside it."),
    svg: bool = typer.Option(False, "--svg", help="Write SVG instead of PNG."),
) -> None:
    """Draw research/progress.png and progress-dark.png: every experiment by status, the kept staircase, the gain per L.

    The rows are those of the live ledger, else of the newest exported run.
    """
    from mjolnir.loop.chart import chart_path, find_chart_source, read_chart_data, write_charts
    from mjolnir.render.console import output
    from mjolnir.render.text import one_line
    from mjolnir.store.git import Git

    git = Git.find(Path.cwd())
    path = chart_path(git.root, out, svg=svg)
    data = read_chart_data(find_chart_source(git))
    for written in write_charts(data, path):
        output(one_line(str(written)))
