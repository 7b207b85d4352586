"""`mjolnir doctor`: what is missing here, and how to mend it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from mjolnir.errors import ExitCode

if TYPE_CHECKING:
    from rich.text import Text

    from mjolnir.loop.doctor import Diagnosis
    from mjolnir.targets.protocol import Check

app = typer.Typer(add_completion=False)


@app.command(epilog="Example: mjolnir doctor --target cpu")
def doctor(
    target: str = typer.Option(
        None, "--target", metavar="T", help="The target to check; else the one of mjolnir.toml."
    ),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object and nothing else."),
) -> None:
    """Check each precondition of measuring here: found, missing, or worth a warning, with the command that mends it.

    Exit 2 when something required is missing.
    """
    from mjolnir.loop.doctor import diagnose
    from mjolnir.render.console import output, print_json

    diagnosis = diagnose(Path.cwd(), target)
    if as_json:
        print_json(_answer(diagnosis))
    else:
        output(_lines(diagnosis))
    if not diagnosis.ok:
        raise typer.Exit(ExitCode.ENVIRONMENT)


def _answer(diagnosis: Diagnosis) -> dict[str, object]:
    answer: dict[str, object] = {
        "schema": "mjolnir.doctor/1",
        "target": diagnosis.target,
        "ok": diagnosis.ok,
        "checks": [{"name": c.name, "ok": c.ok, "found": c.found, "hint": c.hint} for c in diagnosis.checks],
    }
    missing = [check for check in diagnosis.checks if not check.ok]
    if missing:
        first = missing[0]
        answer["error"] = {"code": "E_PRECONDITION", "message": f"{first.name}: {first.found}", "hint": first.hint}
    return answer


def _lines(diagnosis: Diagnosis) -> Text:
    from rich.text import Text

    lines = [Text(f"mjolnir doctor: target {diagnosis.target}", style="bold")]
    width = max(len(check.name) for check in diagnosis.checks)
    for check in diagnosis.checks:
        lines += _check_lines(check, width)
    missing = sum(not check.ok for check in diagnosis.checks)
    if missing:
        lines.append(Text(f"{missing} missing: nothing can be measured until it is mended", style="bold red"))
    else:
        lines.append(Text("ready", style="bold green"))
    return Text("\n").join(lines)


def _check_lines(check: Check, width: int) -> list[Text]:
    from rich.text import Text

    from mjolnir.render.text import one_line

    word, style = ("MISSING", "bold red") if not check.ok else ("warning", "yellow") if check.hint else ("ok", "green")
    line = Text(f"  {word:<7}  {check.name:<{width}}  {one_line(check.found)}")
    line.stylize(style, 2, 2 + len(word))
    if not check.hint:
        return [line]
    return [line, Text(f"  {'':<7}  {'':<{width}}  hint: {one_line(check.hint)}", style="cyan")]
