"""Where a run stands: the words of `status`, and the digest of `status --brief` for an agent with an empty context."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rich.text import Text

from mjolnir.core.lengths import join_labels
from mjolnir.core.model import Experiment, Status
from mjolnir.core.per_length import positive_number
from mjolnir.core.rule_names import CONFIRMED
from mjolnir.render.fact_line import calibration_line, recheck_line
from mjolnir.render.number import DASH, gain_text, row_relative, score_text
from mjolnir.render.style import STATUS_STYLES
from mjolnir.render.text import one_line, short_commit

MAX_BRIEF_LINES = 40
_APART = 0.2
"""Log scale: how far the product of gains and the ratio of scores may part before it is said."""
BESIDE_STAGES = ("recheck", "calibrate")
"""Stages of commands that record facts beside the ledger: there is no commit to evaluate again."""
UNANCHORED = "in order, unanchored (rows removed before now would not show)"
_LABEL_CELLS = 13
_HYPOTHESIS_LIMIT = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningView:
    """An evaluation in progress, or one that a dead process left behind. `log`: its output, or empty."""

    pid: int
    commit: str
    hypothesis: str
    stage: str
    started: str
    is_alive: bool
    log: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What the agent was asked to do, as frozen at `init`. `lengths` in tokens, `min_gain` a ratio minus 1."""

    kernel: str
    lengths: tuple[int, ...]
    min_gain: float
    rule: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusView:
    """The state of a run. `counts` by status; `confirmed_gain` a ratio minus 1 and `gain_interval` its 95 % interval;
    `since_gain`: experiments after the newest keep, and `plateau` how many of them are worth saying (None: no frozen
    configuration); `plateau_text`: the sentence on gains inside noise; `problem`: what is wrong with the ledger, empty
    when nothing was seen; `calibration` and `recheck`: the newest facts beside the ledger, as they stand there."""

    run: str | None
    branch: str | None
    target: str | None
    total: int
    counts: Mapping[str, int]
    baseline: Experiment | None
    champion: Experiment | None
    confirmed_gain: float | None
    since_gain: int
    plateau: int | None
    gain_interval: tuple[float, float] | None = None
    plateau_text: str = ""
    problem: str = ""
    is_anchored: bool = True
    calibration: Mapping[str, Any] | None = None
    recheck: Mapping[str, Any] | None = None
    running: RunningView | None = None
    task: Task | None = None
    recent: Sequence[Experiment] = field(default_factory=tuple)
    dead_ends: Sequence[Experiment] = field(default_factory=tuple)

    @property
    def is_plateau(self) -> bool:
        """True when the experiments without a confirmed gain are as many as the configuration calls a plateau."""
        return self.plateau is not None and self.since_gain >= self.plateau


def status_block(view: StatusView) -> Text:
    """The human form of `status`."""
    lines = [_head(view)]
    if view.total:
        lines += [
            _line("experiments", f"{view.total:,} ({_counts(view)})"),
            _line("baseline", _named(view.baseline)),
            _line("champion", _named(view.champion)),
            _line("gain", _gain(view)),
            *_rechecked(view),
            *_plateau_lines(view),
        ]
    else:
        lines.append(_line("experiments", "none yet"))
    if view.calibration is not None:
        rule = view.task.rule if view.task is not None else CONFIRMED
        lines.append(_line("calibration", calibration_line(view.calibration, rule=rule)))
    lines.append(_chain(view))
    lines += _running(view.running)
    if not view.total:
        following = "init TAG" if view.target is None else 'evaluate -m "the starting kernel"'
        lines.append(_line("next", f"mjolnir autoresearch {following}"))
    return Text("\n").join(lines)


def brief_block(view: StatusView) -> Text:
    """At most MAX_BRIEF_LINES lines: the task, the champion, the last verdicts, what did not work."""
    lines = [_head(view)]
    if view.task is not None:
        lines += _task(view.task)
    lines += [_line("champion", _named(view.champion)), _line("gain", f"{_gain(view)}; {_plateau(view)}")]
    if view.plateau_text:
        lines.append(_line("", _without_label(view.plateau_text)))
    lines.append(_line("experiments", f"{view.total:,} ({_counts(view)})" if view.total else "none yet"))
    lines += _running(view.running)
    if view.problem:
        lines.append(_chain(view))
    tail = _line("details", "mjolnir autoresearch show ID --diff; mjolnir autoresearch ledger --tail 40")
    for title, rows in (("last verdicts:", view.recent), ("dead ends, do not try again:", view.dead_ends)):
        room = MAX_BRIEF_LINES - len(lines) - 2
        if rows and room > 0:
            lines.append(Text(title, style="bold"))
            lines += [_verdict(row) for row in list(rows)[-room:]]
    return Text("\n").join([*lines, tail])


def _task(task: Task) -> list[Text]:
    return [
        _line("task", f"make {one_line(task.kernel, 120)} faster at L = {one_line(join_labels(task.lengths), 120)}"),
        _line("rule", f"{one_line(task.rule, 40)}: a keep gains more than {task.min_gain * 100:g} % (geomean over L)"),
        _line("loop", 'edit that file only, git commit it, then: mjolnir autoresearch evaluate -m "what I tried"'),
    ]


def _line(label: str, text: str, style: str = "") -> Text:
    line = Text(f"{label:<{_LABEL_CELLS}}{text}")
    line.stylize("dim", 0, len(label))
    if style:
        line.stylize(style, _LABEL_CELLS)
    return line


def _head(view: StatusView) -> Text:
    run = f"run {one_line(view.run, 64)}" if view.run else "no run"
    parts = [run, f"branch {one_line(view.branch, 80)}" if view.branch else "detached HEAD"]
    if view.target:
        parts.append(f"target {one_line(view.target, 40)}")
    return Text(" · ".join(parts), style="bold")


def _counts(view: StatusView) -> str:
    return ", ".join(f"{count:,} {one_line(status, 20)}" for status, count in view.counts.items() if count)


def _named(row: Experiment | None) -> str:
    if row is None:
        return "none yet"
    score = f"{score_text(row.score)}x of the reference" if row.score is not None else "no score"
    return (
        f"#{row.id} {short_commit(row.commit) or DASH}  {score}  {one_line(row.hypothesis, _HYPOTHESIS_LIMIT)}".rstrip()
    )


def _gain(view: StatusView) -> str:
    if view.confirmed_gain is None:
        return "no confirmed gain yet"
    interval = ""
    if view.gain_interval is not None:
        low, high = (gain_text(1 + end) for end in view.gain_interval)
        interval = f"95 %: {low} to {high}; "
    gain = gain_text(1 + view.confirmed_gain)
    return f"{gain} over the baseline ({interval}the gains along the kept chain, multiplied){_by_scores(view)}"


def _by_scores(view: StatusView) -> str:
    """A word where the champion's and the baseline's own scores say something else: drift, luck, or a trick."""
    new, old = (positive_number(row.score) if row is not None else None for row in (view.champion, view.baseline))
    if new is None or old is None or view.confirmed_gain is None:
        return ""
    apart = abs(math.log(new / old) - math.log1p(max(view.confirmed_gain, -0.99)))
    if apart <= _APART:
        return ""
    return f"; the two scores alone say {gain_text(new / old)}: mjolnir autoresearch recheck measures it anew"


def _rechecked(view: StatusView) -> list[Text]:
    if view.recheck is None:
        return []
    champion_id = view.champion.id if view.champion is not None else None
    return [_line("recheck", recheck_line(view.recheck, champion_id=champion_id))]


def _plateau_lines(view: StatusView) -> list[Text]:
    lines = [_line("plateau", _plateau(view))]
    return [*lines, _line("", _without_label(view.plateau_text))] if view.plateau_text else lines


def _without_label(sentence: str) -> str:
    return one_line(sentence.removeprefix("plateau: "), 200)


def _plateau(view: StatusView) -> str:
    since = f"{view.since_gain:,} experiment{'' if view.since_gain == 1 else 's'} since the last gain"
    return f"{since}: a plateau, change the approach" if view.is_plateau else since


def _chain(view: StatusView) -> Text:
    if view.problem:
        return _line("ledger", f"! DAMAGED: {one_line(view.problem, 300)}", "bold red")
    if view.total and not view.is_anchored:
        return _line("ledger", f"{view.total:,} rows, {UNANCHORED}", "yellow")
    return _line("ledger", f"{view.total:,} rows, in order")


def _running(running: RunningView | None) -> list[Text]:
    if running is None:
        return []
    what = f"{one_line(running.stage, 40)} of {short_commit(running.commit)} since {one_line(running.started, 25)}"
    words = f"{what} (pid {running.pid}): {one_line(running.hypothesis, _HYPOTHESIS_LIMIT)}"
    if running.is_alive:
        return [_line("running", words)]
    again = "run it again" if running.stage in BESIDE_STAGES else "evaluate the commit again"
    lines = [_line("interrupted", f"{words}; nothing was recorded, {again}", "yellow")]
    if running.log:
        lines.append(_line("", f"log: {one_line(running.log)}"))
    return lines


def _verdict(row: Experiment) -> Text:
    style = STATUS_STYLES[row.status]
    relative = row_relative(row)
    change = gain_text(relative) if relative is not None and row.status is not Status.BASELINE else ""
    why = f"  [{one_line(row.reason, 60)}]" if row.reason and not change else ""
    line = Text(f"  #{row.id} {style.glyph} {row.status.value:<8} {change:>8}  ")
    line.append(f"{one_line(row.hypothesis, _HYPOTHESIS_LIMIT)}{why}")
    line.stylize(style.terminal, 2, len(f"  #{row.id} {style.glyph} {row.status.value}"))
    return line
