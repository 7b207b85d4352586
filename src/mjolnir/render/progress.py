"""What long work shows while it runs: a live line on a terminal, one plain line a stage elsewhere; always on stderr."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Protocol

from rich.console import Console
from rich.text import Text

from mjolnir.render.console import stderr_console
from mjolnir.render.text import one_line

_DETAIL_LIMIT = 60


class Step(Protocol):
    """A step of long work: `done` of `total` in `stage`."""

    @property
    def stage(self) -> str: ...
    @property
    def detail(self) -> str: ...
    @property
    def done(self) -> int: ...
    @property
    def total(self) -> int: ...


@contextlib.contextmanager
def show_progress(title: str, console: Console | None = None) -> Iterator[Callable[[Step], None]]:
    """A callback that shows each step it is given. `title` says what is being done; the live line goes at the end."""
    console = console or stderr_console()
    if not console.is_terminal or console.is_dumb_terminal:
        yield _plain(title, console)
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True) as live:
        task = live.add_task(one_line(title, _DETAIL_LIMIT), total=None)

        def observe(step: Step) -> None:
            live.update(
                task,
                description=one_line(f"{step.stage}  {step.detail}", _DETAIL_LIMIT),
                completed=step.done,
                total=step.total or None,
            )

        yield observe


def _plain(title: str, console: Console) -> Callable[[Step], None]:
    said = ""

    def observe(step: Step) -> None:
        nonlocal said
        if step.stage != said:
            said = step.stage
            console.print(Text(f"{one_line(title, _DETAIL_LIMIT)}: {one_line(step.stage)} ..."), soft_wrap=True)

    return observe
