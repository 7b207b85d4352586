"""`mjolnir autoresearch recheck`: the headline measured anew."""

from __future__ import annotations

from pathlib import Path

import typer

app = typer.Typer(add_completion=False)


@app.command(epilog="Example: mjolnir autoresearch recheck --runs 12")
def recheck(
    runs: int = typer.Option(6, "--runs", metavar="N", help="Rounds, from 2 to 100: each in fresh processes."),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object and nothing else."),
) -> None:
    """Measure baseline, champion and reference anew, side by side: the gain of the run with its interval.

    It is recorded beside the ledger and never as a row of it.
    """
    from mjolnir.loop.interrupt import interruptible
    from mjolnir.loop.recheck import recheck as recheck_run
    from mjolnir.loop.surroundings import Surroundings
    from mjolnir.render.console import notice, output, print_json
    from mjolnir.render.progress import show_progress

    with interruptible() as interruption, show_progress("measuring anew") as observe:
        answer = recheck_run(Path.cwd(), runs, Surroundings(notice=notice, observe=observe), interruption)
    if as_json:
        print_json(answer)
        return
    from mjolnir.render.recheck import recheck_block

    output(recheck_block(answer))
