"""`mjolnir autoresearch init`: a branch, a frozen configuration and a baseline."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from rich.text import Text

    from mjolnir.loop.start import Started

app = typer.Typer(add_completion=False)


@app.command(epilog="Example: mjolnir autoresearch init oct11")
def init(
    tag: str = typer.Argument(..., metavar="TAG", help="The run's name; its branch is autoresearch/TAG."),
    base: str = typer.Option("main", "--base", metavar="BRANCH", help="Where the run starts."),
    baseline: bool = typer.Option(True, "--baseline/--no-baseline", help="Measure the starting kernel as row 1."),
    calibrate: bool = typer.Option(
        True, "--calibrate/--no-calibrate", help="Also time the kernel against itself, for the rule confirmed."
    ),
    rule: str = typer.Option(None, "--rule", metavar="R", help="The keep rule: confirmed or seed. Frozen for the run."),
    sandbox: str = typer.Option(None, "--sandbox", metavar="S", help="Where the kernel runs: process."),
    target: str = typer.Option(None, "--target", metavar="T", help="The target; else the one of mjolnir.toml."),
) -> None:
    """Start a run: branch autoresearch/TAG, the judging configuration frozen, the starting kernel measured as baseline.

    Under the rule confirmed the kernel is then timed against itself, which shows the noise of this device. When a
    measurement fails, branch, ledger and state are as they were: exit 1 when the kernel is wrong, 2 when this machine
    cannot measure it or scatters by more than 15 %. Files with other uncommitted changes are left alone.
    """
    from mjolnir.loop.chart_refresh import refresh_chart
    from mjolnir.loop.interrupt import interruptible
    from mjolnir.loop.start import start_run
    from mjolnir.loop.start_checks import StartRequest
    from mjolnir.loop.surroundings import Surroundings
    from mjolnir.render.console import notice, output
    from mjolnir.render.progress import show_progress

    request = StartRequest(
        tag=tag,
        base=base,
        with_baseline=baseline,
        with_calibration=calibrate,
        rule=rule,
        sandbox=sandbox,
        target=target,
    )
    with interruptible() as interruption:
        with show_progress(f"baseline of {tag}") as observe:
            started = start_run(Path.cwd(), request, Surroundings(notice=notice, observe=observe), interruption)
        output(_block(started))
        if started.row is not None:
            refresh_chart(Path.cwd())


def _block(started: Started) -> Text:
    from rich.text import Text

    from mjolnir.core.lengths import join_labels
    from mjolnir.render.calibration import short_calibration_lines
    from mjolnir.render.length_table import length_lines
    from mjolnir.render.number import score_text
    from mjolnir.render.text import one_line

    state, row = started.state, started.row
    lengths = join_labels(state.config["targets"][state.target]["lengths"])
    lines = [
        f"run {one_line(state.tag)} on branch {one_line(state.branch)}, from {one_line(state.base)} "
        f"{state.base_commit[:7]}",
        f"  kernel   {one_line(state.kernel)}",
        f"  target   {one_line(state.target)}, L = {lengths}",
        f"  rule     {one_line(state.rule)}, a keep gains more than {state.min_gain * 100:g} %",
    ]
    if row is not None:
        lines += [*length_lines(row), f"baseline: experiment #{row.id}, {score_text(row.score)}x of the reference"]
    else:
        lines.append("no baseline yet: the first evaluation that works becomes it")
    if started.calibration is not None:
        lines += short_calibration_lines(started.calibration, state.rule)
    lines.append(f"next: edit {one_line(state.kernel)}, git commit it, then")
    lines.append('run:  mjolnir autoresearch evaluate -m "what I tried"')
    return Text("\n".join(lines))
