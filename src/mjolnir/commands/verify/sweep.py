"""`mjolnir verify sweep`: the work tree's kernel timed beside the reference."""

from __future__ import annotations

from pathlib import Path

import typer

app = typer.Typer(add_completion=False)


@app.command(epilog='Example: mjolnir verify sweep --ls "128 4K" --no-save')
def sweep(
    lengths: str = typer.Option("", "--ls", metavar="L", help='Context lengths, "128 4K"; else the configured ones.'),
    iters: int = typer.Option(None, "--iters", metavar="N", help="Calls of a batch; else the target chooses."),
    gate: bool = typer.Option(True, "--gate/--no-gate", help="Wait for a quiet device first."),
    save: bool = typer.Option(True, "--save/--no-save", help="Save the run document under research/verify/sweep."),
    dry_run: bool = typer.Option(False, "--dry-run", help="Say what would be timed, and time nothing."),
    target: str = typer.Option(None, "--target", metavar="T", help="The target; else the one of mjolnir.toml."),
    as_json: bool = typer.Option(False, "--json", help="Print the run document and nothing else."),
) -> None:
    """Time reference and kernel at every length; exit 1 when the kernel fails. Nothing reaches the ledger."""
    from mjolnir.core.lengths import join_labels
    from mjolnir.loop.surroundings import Surroundings
    from mjolnir.loop.verify import open_bench, plan_document, require_passed, run_sweep, sweep_request
    from mjolnir.render.console import notice, output, print_json
    from mjolnir.render.progress import show_progress
    from mjolnir.render.run_document import document_text
    from mjolnir.render.text import one_line

    bench = open_bench(Path.cwd(), target)
    request = sweep_request(bench, lengths=lengths, iters=iters, gate=gate)
    if not as_json:
        verb = "would time" if dry_run else "timing"
        output(f"{verb} {one_line(bench.first_line)}, L = {join_labels(request.lengths)}")
    if dry_run:
        if as_json:
            print_json(plan_document(bench, request))
        return
    with show_progress("timing") as observe:
        verified = run_sweep(bench, request, Surroundings(notice=notice, observe=observe), is_saved=save)
    if not as_json:
        output(document_text(verified.document))
        if save:
            output(f"saved: mjolnir verify show sweep ({verified.document['run_id']})")
    if verified.unsteady:
        notice(f"these times are not to be trusted: {verified.unsteady}")
    answer = {key: value for key, value in verified.document.items() if key != "schema"}
    require_passed(verified, answer)
    if as_json:
        print_json(verified.document)
