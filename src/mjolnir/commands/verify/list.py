"""`mjolnir verify list`: the saved run documents."""

from __future__ import annotations

from pathlib import Path

import typer

app = typer.Typer(add_completion=False)


@app.command("list", epilog="Example: mjolnir verify list --json")
def list_saved(
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object and nothing else."),
) -> None:
    """List the saved run documents, newest last: what evaluate and the verify commands measured."""
    from mjolnir.render.console import output, print_json
    from mjolnir.store.git import Git
    from mjolnir.store.runs import list_documents

    root = Git.find(Path.cwd()).root
    refs = list_documents(root)
    if as_json:
        documents = [
            {"stage": ref.stage, "run_id": ref.run_id, "path": ref.path.relative_to(root).as_posix()} for ref in refs
        ]
        print_json({"schema": "mjolnir.verify-list/1", "documents": documents})
        return
    for ref in refs:
        output(f"{ref.run_id}  {ref.stage:<12}  {ref.path.relative_to(root)}")
    output(f"{len(refs):,} run documents; the newest: mjolnir verify show" if refs else "no run documents yet")
