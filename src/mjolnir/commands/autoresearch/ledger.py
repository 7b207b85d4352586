"""`mjolnir autoresearch ledger`: the rows, newest last."""

from __future__ import annotations

from pathlib import Path

import typer

app = typer.Typer(add_completion=False)


@app.command(epilog="Example: mjolnir autoresearch ledger --tail 40")
def ledger(
    tail: int = typer.Option(20, "--tail", min=0, metavar="N", help="How many of the newest rows to show."),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object and nothing else."),
) -> None:
    """Show the experiments of this run, newest last; the champion carries a star."""
    from mjolnir.loop.notebook import open_notebook
    from mjolnir.render.console import notice, output, print_json, stdout_console

    notebook = open_notebook(Path.cwd())
    for note in notebook.notices:
        notice(note)
    book = notebook.ledger
    total = book.count() if book is not None else 0
    if as_json:
        rows = book.raw_rows(tail) if book is not None else []
        print_json({"schema": "mjolnir.ledger-view/1", "run": notebook.tag, "total": total, "rows": rows})
        return
    if book is None or not total:
        output("no experiments yet: mjolnir autoresearch init TAG")
        return
    from mjolnir.core.progress import champion
    from mjolnir.render.table import ledger_table

    shown = book.tail(tail)
    best = champion(shown)
    console = stdout_console()
    if shown:
        console.print(ledger_table(shown, champion_id=best.id if best is not None else None, width=console.width))
    output(f"{len(shown):,} of {total:,} experiments; one whole: mjolnir autoresearch show ID")
