"""`mjolnir autoresearch calibrate`: what noise does on this device."""

from __future__ import annotations

from pathlib import Path

import typer

app = typer.Typer(add_completion=False)


@app.command(epilog="Example: mjolnir autoresearch calibrate --runs 30")
def calibrate(
    runs: int = typer.Option(12, "--runs", metavar="N", help="Races of the champion against itself, 2 to 1000."),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object and nothing else."),
) -> None:
    """Time the champion against itself: the noise at each L, and how often a change of nothing would be kept here.

    A race takes as long as a round of a confirmation. What is found raises the standard error that a confirmation must
    beat, and is kept beside the ledger; no row is written. Calibrate again after a change of machine or tools.
    """
    from rich.text import Text

    from mjolnir.core.calibration import as_fact
    from mjolnir.loop.calibrate import calibrate_run
    from mjolnir.loop.interrupt import interruptible
    from mjolnir.loop.surroundings import Surroundings
    from mjolnir.render.calibration import calibration_lines
    from mjolnir.render.console import notice, output, print_json
    from mjolnir.render.progress import show_progress

    with interruptible() as interruption, show_progress("calibrating") as observe:
        around = Surroundings(notice=notice, observe=observe)
        done = calibrate_run(Path.cwd(), runs, around, interruption)
    if as_json:
        print_json(as_fact(done.calibration))
        return
    output(Text("\n".join([f"calibration of {done.tag}", *calibration_lines(done.calibration, done.rule)])))
