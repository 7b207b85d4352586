"""`mjolnir autoresearch export`: a run as files to commit."""

from __future__ import annotations

from pathlib import Path

import typer

app = typer.Typer(add_completion=False)


@app.command(epilog="Example: mjolnir autoresearch export --tag oct11")
def export(
    tag: str = typer.Option(None, "--tag", metavar="T", help="The run to export; else that of this branch or ledger."),
    csv: bool = typer.Option(False, "--csv", help="Also ledger.csv, for a spreadsheet."),
) -> None:
    """Write research/runs/TAG/: ledger.jsonl, ledger.tsv, SUMMARY.md, the charts, and each experiment's diff.

    Run it again at any time: its own files are replaced, others stay.
    """
    from mjolnir.loop.export import export_run
    from mjolnir.render.console import notice, output
    from mjolnir.render.progress import show_progress
    from mjolnir.render.text import one_line
    from mjolnir.store.git import Git

    git = Git.find(Path.cwd())
    with show_progress("export") as observe:
        done = export_run(git, tag, csv=csv, observe=observe)
    for note in done.notices:
        notice(note)
    output(f"exported {done.rows:,} experiments to {one_line(str(done.folder))}")
    output("commit that folder when the run is over: it is the notebook that stays with the repository")
