"""`mjolnir autoresearch audit`: does everything that a run left behind still say the same?"""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from mjolnir.errors import FindingsError

if TYPE_CHECKING:
    from mjolnir.loop.audit import Audited, Place

app = typer.Typer(add_completion=False)


@app.command(epilog="Example: mjolnir autoresearch audit")
def audit(
    repair: bool = typer.Option(
        False, "--repair", help="First move torn and damaged lines aside and put their copies in their place."
    ),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object and nothing else."),
) -> None:
    """Check chain, mirror, anchor, refs, commits, run documents, harness and configuration, and every verdict anew.

    Exit 1 on any finding. Nothing is written without --repair, and that mends unreadable lines alone: an edited,
    removed or reordered row stays a finding.
    """
    from mjolnir.loop.audit import find_place
    from mjolnir.render.console import notice, output, print_json

    place = find_place(Path.cwd())
    if repair:
        from mjolnir.store.repair import repair_ledger

        if not repair_ledger(place.files, notice):
            notice("no damaged line: nothing was repaired")
    found = _audit(place)
    for text in found.notes:
        notice(text)
    answer = _answer(found)
    if as_json and not found.findings:
        print_json({"schema": "mjolnir.audit/1", **answer})
    elif not as_json:
        from mjolnir.render.audit import audit_block

        output(audit_block(found.run, found.rows, found.findings))
    _require_none(found, answer)


def _audit(place: Place) -> Audited:
    """Progress is for people: a log or an agent has no use for it."""
    from mjolnir.loop.audit import audit_run
    from mjolnir.render.progress import show_progress

    with show_progress("audit") if sys.stderr.isatty() else contextlib.nullcontext(_say_nothing) as observe:
        return audit_run(place, observe)


def _say_nothing(step: Any) -> None:
    del step


def _answer(found: Audited) -> dict[str, Any]:
    findings = [finding.as_json() for finding in found.findings]
    return {"ok": not findings, "rows": found.rows, "findings": findings}


def _require_none(found: Audited, answer: dict[str, Any]) -> None:
    """Raises FindingsError with the code and the hint of the first finding."""
    if not found.findings:
        return
    first, count = found.findings[0], len(found.findings)
    more = f", and {count - 1:,} more" if count > 1 else ""
    raise FindingsError(first.code, f"audit of {found.run}: {first.message}{more}", first.hint, extra=answer)
