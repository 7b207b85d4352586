"""`mjolnir autoresearch show`: one experiment whole."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from mjolnir.loop.experiment_view import ExperimentView

app = typer.Typer(add_completion=False)


@app.command(epilog="Example: mjolnir autoresearch show 7 --diff")
def show(
    row_id: int = typer.Argument(..., metavar="ID", help="The experiment's id, as `ledger` shows it."),
    diff: bool = typer.Option(False, "--diff", help="Also the kernel's change against the champion of that time."),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object and nothing else."),
) -> None:
    """Show one experiment: hypothesis, verdict, every length, commits, run documents and, on request, its diff."""
    from mjolnir.loop.experiment_view import read_experiment
    from mjolnir.loop.notebook import open_notebook
    from mjolnir.render.console import notice, print_json

    notebook = open_notebook(Path.cwd())
    for note in notebook.notices:
        notice(note)
    found = read_experiment(notebook, row_id, with_diff=diff)
    if as_json:
        print_json(_answer(found))
    else:
        _print(found, with_diff=diff)


def _answer(found: ExperimentView) -> dict[str, Any]:
    documents = [
        {
            "stage": document.stage,
            "run_id": document.run_id,
            "path": str(document.path) if document.path is not None else None,
            "document": document.document,
        }
        for document in found.documents
    ]
    return {
        "schema": "mjolnir.show/1",
        "row": found.plain,
        "diff": found.diff,
        "summary": None,
        "documents": documents,
        "logs": [str(path) for path in found.logs],
    }


def _print(found: ExperimentView, *, with_diff: bool) -> None:
    from mjolnir.render.console import output, print_log
    from mjolnir.render.row import row_block
    from mjolnir.render.text import one_line

    output(row_block(found.row))
    for document in found.documents:
        place = str(document.path) if document.path is not None else f"{document.run_id} (gone)"
        output(f"{document.stage:<12}{one_line(place)}")
    for path in found.logs:
        output(f"{'log':<12}{one_line(str(path))}")
    if with_diff:
        text = (
            "its commits are not in this repository" if found.diff is None else found.diff or "the kernel is the same"
        )
        print_log("\ndiff", text)
