"""`mjolnir autoresearch evaluate`: one experiment."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from mjolnir.errors import UsageFault

if TYPE_CHECKING:
    from mjolnir.loop.evaluate import Evaluation, Request
    from mjolnir.loop.interrupt import Interruption

app = typer.Typer(add_completion=False)


@app.command(
    epilog='Example: mjolnir autoresearch evaluate -m "share each page tile between the heads of a group" --apply'
)
def evaluate(
    text: str = typer.Option(
        ..., "--hypothesis", "-m", metavar="TEXT", help="What was tried, and why; '-' reads it from stdin."
    ),
    agent: str = typer.Option("", "--agent", metavar="A", help="Who had the idea."),
    sources: str = typer.Option("", "--sources", metavar="U1,U2", help="Where it comes from: links, with commas."),
    min_gain: float = typer.Option(
        None, "--min-gain", metavar="G", help="Ask for more gain than the run: 0.1 is 10 %."
    ),
    lengths: str = typer.Option("", "--ls", metavar="L", help='Only these lengths, "128 4K": never a keep.'),
    iters: int = typer.Option(None, "--iters", metavar="N", help="Calls of a batch: more than the target takes."),
    gate: bool = typer.Option(True, "--gate/--no-gate", help="Wait for a quiet device; --no-gate is noted on the row."),
    again: bool = typer.Option(False, "--again", help="Measure a discarded program a second and last time."),
    apply: bool = typer.Option(
        False, "--apply/--no-apply", help="After a discard, crash or invalid: reset the branch to the champion."
    ),
    target: str = typer.Option(None, "--target", metavar="T", help="The run's own target; another one is refused."),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object and nothing else."),
) -> None:
    """Check the kernel of HEAD, time it beside the reference, judge it against the champion, and record one row.

    Exit 0 whatever the verdict; 4 when it is refused before anything runs; 2 when nothing could be measured. Options
    may only be stricter than what the run froze.
    """
    from mjolnir.loop.evaluate import Request
    from mjolnir.loop.interrupt import interruptible
    from mjolnir.loop.terms import Wishes
    from mjolnir.loop.words import make_words

    words = make_words(_read_stdin() if text == "-" else text, agent=agent, sources=sources)
    wishes = Wishes(target=target, min_gain=min_gain, lengths=lengths, iters=iters, gate=gate)
    request = Request(words=words, wishes=wishes, again=again, apply=apply)
    with interruptible() as interruption:
        _evaluate(request, interruption, as_json=as_json)


def _evaluate(request: Request, interruption: Interruption, *, as_json: bool) -> None:
    from mjolnir.loop.chart_refresh import refresh_chart
    from mjolnir.loop.evaluate import evaluate as evaluate_head
    from mjolnir.loop.surroundings import Surroundings
    from mjolnir.render.console import notice, output, print_json
    from mjolnir.render.progress import show_progress
    from mjolnir.render.verdict import verdict_text

    with show_progress("evaluating") as observe:
        around = Surroundings(notice=notice, observe=observe)
        done = evaluate_head(Path.cwd(), request, around, interruption)
    if as_json:
        print_json(_answer(done))
    else:
        output(verdict_text(_view(done)))
    if done.row.status in ("keep", "baseline"):
        refresh_chart(Path.cwd())


def _read_stdin() -> str:
    """One argument of a command line holds 128 KiB on Linux; a pipe holds any text. Its last line end is the pipe's."""
    if sys.stdin is None:
        raise UsageFault("-m -: there is no standard input to read from", "pipe the text in, or say it: -m TEXT")
    return sys.stdin.buffer.read().decode("utf-8", "replace").removesuffix("\n")


def _answer(done: Evaluation) -> dict[str, Any]:
    row = done.row
    keys = ("id", "rule", "reason", "score", "best_before", "correctness", "commit", "commit_full", "kernel_blob")
    more = ("per_L", "vs_best", "set_aside", "codes", "attempt", "seconds", "notes", "profile", "verify_runs")
    return {
        "schema": "mjolnir.evaluate/1",
        "status": row.status.value,
        **{key: getattr(row, key) for key in keys + more},
        "next": {"action": done.next.action, "text": done.next.text, "command": done.next.command},
        "log": done.log,
        "screen": row.screen,
        "confirm": row.confirm,
        "plateau": done.plateau or None,
    }


def _view(done: Evaluation) -> Any:
    from mjolnir.render.verdict import VerdictView

    workload = done.run.config.workload.paged_decode()
    return VerdictView(
        row=done.row,
        champion=done.champion,
        next_text=done.next.text,
        next_command=done.next.command,
        log=done.log,
        plateau=done.plateau,
        kv_bytes={tokens: workload.kv_bytes(tokens) for tokens in done.run.section.lengths},
        bandwidth_gbps=done.run.section.bandwidth_gbps,
    )
