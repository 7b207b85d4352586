"""`mjolnir verify correctness`: the work tree's kernel against the oracle."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

app = typer.Typer(add_completion=False)

_KEYS = ("family", "case", "passed", "unsupported", "error", "limit", "detail")


@app.command(epilog='Example: mjolnir verify correctness --quick --dtypes "fp8 bf16"')
def correctness(
    quick: bool = typer.Option(False, "--quick", help="The subset that evaluate runs; every input family is in it."),
    dtypes: str = typer.Option(
        "", "--dtypes", metavar="D", help='Element types of q: "fp8 bf16"; else the workload\'s.'
    ),
    match: str = typer.Option("", "--match", metavar="S", help="Only cases whose name holds S."),
    fail_fast: bool = typer.Option(False, "--fail-fast", help="Stop at the first failure."),
    timeout_s: float = typer.Option(None, "--timeout", min=1, metavar="S", help="Seconds the check may take."),
    target: str = typer.Option(
        None, "--target", metavar="T", help="The target, or interpreter: a GPU kernel without a GPU; else the run's."
    ),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object and nothing else."),
) -> None:
    """Check the work tree's kernel file against the float64 oracle; exit 1 on a failure.

    The run document is saved under research/verify/correctness; nothing reaches the ledger.
    """
    from mjolnir.loop.surroundings import Surroundings
    from mjolnir.loop.verify import check_request, open_bench, require_passed, run_check
    from mjolnir.render.console import notice, output, print_json
    from mjolnir.render.progress import show_progress
    from mjolnir.render.run_document import document_text
    from mjolnir.render.text import one_line

    request = check_request(quick=quick, dtypes=dtypes, match=match, fail_fast=fail_fast)
    bench = open_bench(Path.cwd(), target)
    if not as_json:
        output(f"checking {one_line(bench.first_line)}")
    with show_progress("checking") as observe:
        around = Surroundings(notice=notice, observe=observe)
        verified = run_check(bench, request, around, time_limit_s=timeout_s)
    if not as_json:
        output(document_text(verified.document))
        output(f"saved: mjolnir verify show correctness ({verified.document['run_id']})")
    answer = _answer(verified.document)
    require_passed(verified, answer)
    if as_json:
        print_json({"schema": "mjolnir.correctness/1", **answer})


def _answer(document: dict[str, Any]) -> dict[str, Any]:
    return {
        "passed": document["summary"]["outcome"] == "passed",
        "seed": document["params"]["seed"],
        "run_id": document["run_id"],
        **({"note": document["summary"]["note"]} if "note" in document["summary"] else {}),
        "cases": [{key: case.get(key) for key in _KEYS} for case in document["cases"]],
    }
