"""`mjolnir verify show`: the newest run document."""

from __future__ import annotations

from pathlib import Path

import typer

app = typer.Typer(add_completion=False)


@app.command(epilog="Example: mjolnir verify show sweep")
def show(
    stage: str = typer.Argument(None, metavar="STAGE", help="correctness or sweep; else the newest of any stage."),
    as_json: bool = typer.Option(False, "--json", help="Print the run document and nothing else."),
) -> None:
    """Show the newest saved run document (of a stage): its cases, or its times."""
    from mjolnir.errors import UsageFault
    from mjolnir.render.console import output, print_json
    from mjolnir.render.run_document import document_head, document_text
    from mjolnir.store.git import Git
    from mjolnir.store.runs import newest_document, read_document

    ref = newest_document(Git.find(Path.cwd()).root, stage)
    if ref is None:
        of_stage = f" of the stage {stage!r}" if stage is not None else ""
        raise UsageFault(
            f"there is no run document{of_stage} yet", "mjolnir verify correctness, or mjolnir verify sweep"
        )
    document = read_document(ref)
    if as_json:
        print_json(document)
        return
    output(document_head(document))
    output(document_text(document))
