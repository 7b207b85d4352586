"""Where a run stands: what `status` tells, for people, for agents and as JSON. Prints nothing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mjolnir.core.model import Experiment, RowGlance, Status
from mjolnir.core.progress import (
    baseline,
    champion,
    confirmed_gain,
    confirmed_gain_interval,
    counts_by_status,
    since_last_keep,
)
from mjolnir.errors import Refused
from mjolnir.loop.kept_rows import read_kept
from mjolnir.loop.newest_fact import CALIBRATIONS, RECHECKS, newest_fact
from mjolnir.loop.notebook import Notebook
from mjolnir.loop.plateau import tell_plateau
from mjolnir.render.status import RunningView, StatusView, Task
from mjolnir.store.anchor import anchor_path, read_anchor
from mjolnir.store.codec import decode_json
from mjolnir.store.inflight import read_inflight
from mjolnir.store.ledger_files import live_ledger
from mjolnir.store.run_state import RunState

RECENT_ROWS = 10
DEAD_END_ROWS = 20
_LOOK_BACK_ROWS = 100
_DEAD_ENDS = (Status.DISCARD, Status.CRASH, Status.INVALID)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStatus:
    """Where a run stands, and the champion's and the baseline's rows as they stand in the ledger. `notices` are
    sentences for the user."""

    view: StatusView
    champion: dict[str, Any] | None
    baseline: dict[str, Any] | None
    notices: tuple[str, ...] = ()


def read_status(notebook: Notebook) -> RunStatus:
    """Everything that `status` tells. Of most rows only a few keys are decoded. Raises Refused E_LEDGER."""
    ledger = notebook.ledger
    glances = ledger.glances() if ledger is not None else []
    pairs = read_kept(live_ledger(notebook.git.root), glances)
    kept = [row for row, _ in pairs]
    first, last = baseline(kept), champion(kept)
    chain = ledger.check() if ledger is not None else None
    problem = chain.problem.message if chain is not None and chain.problem is not None else ""
    notices: list[str] = []
    common_dir, tag = notebook.git.common_dir, notebook.tag
    calibration = newest_fact(common_dir, tag, CALIBRATIONS, notices.append)
    view = StatusView(
        run=notebook.tag,
        branch=notebook.branch,
        target=_target(notebook, last),
        total=len(glances),
        counts={status.value: count for status, count in counts_by_status(glances).items()},
        baseline=first,
        champion=last,
        confirmed_gain=confirmed_gain(kept) if len(kept) > 1 else None,
        gain_interval=confirmed_gain_interval(kept),
        since_gain=since_last_keep(glances),
        plateau=notebook.state.config["run"]["plateau"] if notebook.state is not None else None,
        plateau_text=_plateau_text(notebook, glances, calibration, notices),
        problem=problem,
        is_anchored=_is_anchored(notebook),
        calibration=calibration,
        recheck=newest_fact(common_dir, tag, RECHECKS, notices.append),
        running=_running(notebook.git.root),
        task=_task(notebook.state),
    )
    plain = {id(row): line for row, line in pairs if row is first or row is last}
    return RunStatus(
        view=view,
        champion=decode_json(plain[id(last)]) if last is not None else None,
        baseline=decode_json(plain[id(first)]) if first is not None else None,
        notices=tuple(notices),
    )


def add_digest(notebook: Notebook, view: StatusView) -> StatusView:
    """`view` with what `status --brief` adds: the last verdicts and what did not work before them."""
    if notebook.ledger is None:
        return view
    rows = notebook.ledger.tail(_LOOK_BACK_ROWS)
    dead_ends = [row for row in rows[:-RECENT_ROWS] if row.status in _DEAD_ENDS]
    return replace(view, recent=rows[-RECENT_ROWS:], dead_ends=dead_ends[-DEAD_END_ROWS:])


def _target(notebook: Notebook, last: Experiment | None) -> str | None:
    if notebook.state is not None:
        return notebook.state.target
    return last.target if last is not None else None


def _plateau_text(
    notebook: Notebook, glances: list[RowGlance], calibration: dict[str, Any] | None, notices: list[str]
) -> str:
    if notebook.ledger is None or notebook.state is None:
        return ""
    try:
        return tell_plateau(notebook.ledger, notebook.state, calibration=calibration, glances=glances)
    except Refused as e:
        notices.append(f"{e.message}; {e.hint}")
        return ""


def _is_anchored(notebook: Notebook) -> bool:
    """Somebody outside the repository remembers how many rows there are. A damaged anchor is told as a problem."""
    path = anchor_path(notebook.git.common_dir, notebook.tag) if notebook.tag is not None else None
    try:
        return path is not None and read_anchor(path) is not None
    except Refused:
        return False


def _task(state: RunState | None) -> Task | None:
    if state is None:
        return None
    lengths = state.config["targets"][state.target]["lengths"]
    return Task(kernel=state.kernel, lengths=tuple(lengths), min_gain=state.min_gain, rule=state.rule)


def _running(root: Path) -> RunningView | None:
    found = read_inflight(root)
    if found is None:
        return None
    return RunningView(
        pid=found.pid,
        commit=found.commit,
        hypothesis=found.hypothesis,
        stage=found.stage,
        started=found.started,
        is_alive=found.is_alive(),
        log=found.log,
    )
