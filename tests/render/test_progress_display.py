"""Long work says what it does: a live line on a terminal, a plain line a stage elsewhere."""

from __future__ import annotations

import io
from dataclasses import dataclass

from rich.console import Console

from mjolnir.render.progress import show_progress


@dataclass(frozen=True, kw_only=True)
class Step:
    stage: str
    detail: str = ""
    done: int = 0
    total: int = 10


def test_without_a_terminal_each_stage_is_one_plain_line():
    console = Console(file=io.StringIO(), width=80)
    with show_progress("evaluate 3a90293", console) as observe:
        for stage in ("correctness", "correctness", "sweep"):
            observe(Step(stage=stage, detail="[/=]"))
    assert console.file.getvalue() == "evaluate 3a90293: correctness ...\nevaluate 3a90293: sweep ...\n"


def test_on_a_terminal_the_line_lives_and_goes_and_foreign_words_are_data():
    console = Console(file=io.StringIO(), width=80, force_terminal=True)
    with show_progress("evaluate [/=]", console) as observe:
        observe(Step(stage="sweep", detail="[/=] [bold]x \x1b[5m", done=3))
    shown = console.file.getvalue()
    assert "[/=] [bold]x" in shown
    assert "\x1b[5m" not in shown
    assert "3/10" in shown


def test_it_writes_to_stderr_so_that_json_stays_alone_on_stdout(capsys):
    with show_progress("evaluate") as observe:
        observe(Step(stage="sweep"))
    out, err = capsys.readouterr()
    assert (out, err) == ("", "evaluate: sweep ...\n")
