"""`mjolnir autoresearch status`: where the run stands."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from mjolnir.loop.views import RunStatus

app = typer.Typer(add_completion=False)


@app.command(epilog="Example: mjolnir autoresearch status --brief")
def status(
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object and nothing else."),
    brief: bool = typer.Option(
        False, "--brief", help="A digest of at most 40 lines for an agent with an empty context."
    ),
) -> None:
    """Show champion, counts, gain, plateau, the state of the ledger and the evaluation in progress."""
    from mjolnir.loop.notebook import open_notebook
    from mjolnir.loop.views import add_digest, read_status
    from mjolnir.render.console import notice, output, print_json

    notebook = open_notebook(Path.cwd())
    found = read_status(notebook)
    for note in (*notebook.notices, *found.notices):
        notice(note)
    if as_json:
        print_json(_answer(found))
        return
    from mjolnir.render.status import brief_block, status_block

    output(brief_block(add_digest(notebook, found.view)) if brief else status_block(found.view))


def _answer(found: RunStatus) -> dict[str, Any]:
    view, running = found.view, found.view.running
    return {
        "schema": "mjolnir.status/1",
        "run": view.run,
        "branch": view.branch,
        "target": view.target,
        "total": view.total,
        "counts": dict(view.counts),
        "baseline": found.baseline,
        "champion": found.champion,
        "score": view.champion.score if view.champion is not None else None,
        "confirmed_gain": view.confirmed_gain,
        "confirmed_gain_interval": list(view.gain_interval) if view.gain_interval is not None else None,
        "plateau": view.is_plateau,
        "since_gain": view.since_gain,
        "plateau_text": view.plateau_text or None,
        "chain": {
            "ok": not view.problem,
            "rows": view.total,
            "problem": view.problem or None,
            "anchored": view.is_anchored,
        },
        "running": None
        if running is None
        else {
            "pid": running.pid,
            "commit": running.commit,
            "hypothesis": running.hypothesis,
            "stage": running.stage,
            "started": running.started,
            "alive": running.is_alive,
            "log": running.log or None,
        },
        "calibration": dict(view.calibration) if view.calibration is not None else None,
        "recheck": dict(view.recheck) if view.recheck is not None else None,
        "stop_reason": None,
    }
