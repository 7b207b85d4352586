"""`mjolnir verify static`: facts of a GPU kernel without a GPU."""

from __future__ import annotations

from pathlib import Path

import typer

app = typer.Typer(add_completion=False)


@app.command(epilog="Example: mjolnir verify static --against HEAD~1")
def static(
    arch: str = typer.Option("", "--arch", metavar="A", help="The device's architecture, sm_110a; else the target's."),
    against: str = typer.Option("", "--against", metavar="COMMIT", help="Also say what changed since this commit."),
    dtypes: str = typer.Option(
        "", "--dtypes", metavar="D", help='Element types of q: "fp8 bf16"; else the workload\'s.'
    ),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object and nothing else."),
) -> None:
    """Compile the work tree's GPU kernel and count what it does, without a GPU; exit 1 when it does not compile.

    Registers, spills, shared memory, CTAs per SM, instructions per KV row, bytes of K and V. No time and no score:
    facts, and a floor that no call can beat.
    """
    from mjolnir.loop.static import open_static_bench, run_static, static_request
    from mjolnir.loop.surroundings import Surroundings
    from mjolnir.render.console import notice, output, print_json
    from mjolnir.render.progress import show_progress
    from mjolnir.render.static import static_lines
    from mjolnir.render.text import one_line

    bench = open_static_bench(Path.cwd())
    request = static_request(bench, arch=arch, dtypes=dtypes)
    if not as_json:
        output(f"reading {one_line(bench.first_line)}")
    with show_progress("static") as observe:
        view = run_static(bench, request, Surroundings(notice=notice, observe=observe), against=against)
    if as_json:
        print_json({"schema": "mjolnir.static/1", **view.as_json()})
        return
    for line in static_lines(view.report, view.change):
        output(line)
    if view.change_note:
        notice(view.change_note)
