"""`mjolnir explain`: what a word of mjolnir means, and what to type."""

from __future__ import annotations

import typer

app = typer.Typer(add_completion=False)


@app.command(epilog="Example: mjolnir explain E_DIRTY")
def explain(
    code: str = typer.Argument(None, metavar="[CODE]", help="A status, rule, code or exit: keep, E_DIRTY, 4."),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object and nothing else."),
) -> None:
    """Say what a status, rule, code or exit means and what to do about it; without CODE, list them all."""
    from mjolnir.core.catalogue import entries
    from mjolnir.core.catalogue import explain as find
    from mjolnir.render.console import output, print_json

    found = [find(code)] if code is not None else list(entries())
    if as_json:
        answer = [{"code": e.code, "kind": e.kind, "meaning": e.meaning, "mend": e.mend} for e in found]
        print_json({"schema": "mjolnir.explain/1", "entries": answer})
        return
    from mjolnir.render.catalogue import entry_block, entry_list

    output(entry_block(found[0]) if code is not None else entry_list(found))
