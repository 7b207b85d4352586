"""`mjolnir demo`: the whole idea on real measurements, in about a minute. It types the commands that a user types."""

from __future__ import annotations

import contextlib
import importlib
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from mjolnir.errors import ExitCode, FindingsError, Interrupted, Refused

if TYPE_CHECKING:
    from mjolnir.loop.demo import DemoStep

app = typer.Typer(add_completion=False)


@app.command(epilog="Example: mjolnir demo my-first-lab")
def demo(
    folder: Path = typer.Argument(None, metavar="DIR", help="Where to work; else a temporary folder, which stays."),
) -> None:
    """A scripted tour: a baseline, one experiment that is kept, one that is wrong, one that changes nothing.

    Everything is measured here and now. Exit 1 when a step does not end as told.
    """
    from mjolnir.loop.demo import TAG, demo_steps, make_demo_repository

    _say("mjolnir demo: makes a research repository, measures its kernel and judges three experiments (about a minute)")
    made = make_demo_repository(folder)
    _say(f"everything happens in {made.root}")
    try:
        with contextlib.chdir(made.root):
            _say("\n1. The starting kernel, measured beside the reference: the baseline.")
            _type("init", TAG, "--no-calibrate")
            endings = [_experiment(made.root, number, step) for number, step in enumerate(demo_steps(), start=2)]
            _close(made.root, endings)
    except (KeyboardInterrupt, Interrupted):
        raise Interrupted("the demo was interrupted", f"what it made is in {made.root}; run it again") from None


def _experiment(root: Path, number: int, step: DemoStep) -> str:
    """Commit, evaluate, and obey the verdict. Returns a line for the end of the tour."""
    from mjolnir.loop.demo import KERNEL, MAX_TRIES, champion_commit, commit_kernel, go_back, is_noisy, require_ending

    _say(f"\n{number}. {step.story}")
    start = champion_commit(root)
    change = commit_kernel(root, step)
    _say(f"$ git commit -m {shlex.quote(step.hypothesis)} -- {KERNEL}\n{change}")
    if step.expected is None:
        _expect_refusal(root, step)
    else:
        _type("evaluate", "-m", step.hypothesis)
        for _ in range(MAX_TRIES - 1):
            if is_noisy(root):
                _type("evaluate", "-m", step.hypothesis)
        require_ending(root, step)
    if step.ending != "keep":
        _say(f"$ git reset --hard {start}")
        go_back(root, start)
    return f"  {step.ending:<8} {step.hypothesis}"


def _expect_refusal(root: Path, step: DemoStep) -> None:
    from mjolnir.loop.demo import REFUSAL, rows_of, unexpected
    from mjolnir.render.console import error_lines

    try:
        _type("evaluate", "-m", step.hypothesis)
    except Refused as e:
        if e.code != REFUSAL:
            raise unexpected(root, f"refused for another reason ({e.message})", step) from e
        _say(error_lines(e))
        return
    raise unexpected(root, rows_of(root)[-1].status.value, step)


def _close(root: Path, endings: list[str]) -> None:
    """The ledger, the verdicts, and the chart's path as the last line."""
    from mjolnir.loop.chart import chart_path, find_chart_source, read_chart_data, write_charts
    from mjolnir.store.git import Git

    _say("\nThe ledger has one row for each measurement, and none for what was refused:")
    _type("ledger")
    _say("\nThe three experiments:")
    _say("\n".join(endings))
    git = Git.find(root)
    light, *_ = write_charts(read_chart_data(find_chart_source(git)), chart_path(git.root, None, svg=False))
    if not light.is_file():
        raise FindingsError("E_DEMO", f"{light} was not drawn", "mjolnir autoresearch chart says why")
    _say(f"\nGo on there: cd {shlex.quote(str(root))} && mjolnir autoresearch status\nThe chart of this run:\n{light}")


def _type(command: str, *words: str) -> None:
    """Show `mjolnir autoresearch COMMAND ...` as typed, and run that very command in the current folder."""
    _say(f"$ mjolnir autoresearch {shlex.join([command, *words])}")
    module = importlib.import_module(f"mjolnir.commands.autoresearch.{command}")
    code = typer.main.get_command(module.app)(args=list(words), prog_name=command, standalone_mode=False)
    if code == ExitCode.INTERRUPTED:  # typer makes this of a Ctrl-C
        raise KeyboardInterrupt
    if code:
        raise typer.Exit(code)


def _say(text: str) -> None:
    from mjolnir.render.console import output

    output(text)
