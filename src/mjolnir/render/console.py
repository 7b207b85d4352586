"""Where text leaves the program: answers on stdout, everything else on stderr, JSON as exactly one object."""

from __future__ import annotations

import contextlib
import json
import math
import os
import sys
from typing import IO, Any

from rich.console import Console
from rich.text import Text

from mjolnir.errors import MjolnirError, ReaderLeftError
from mjolnir.render.text import one_line, whole

MIN_WIDTH = 60
MAX_WIDTH = 200
PLAIN_WIDTH = 120
"""Columns when nobody says how wide the reader is: a pipe, a log, an agent's tool."""
_MESSAGE_LIMIT = 4000


class _Console(Console):
    """A reader that left early (head, less) is the command line's business, not rich's: it would exit with 1."""

    def on_broken_pipe(self) -> None:
        raise ReaderLeftError


def stdout_console() -> Console:
    """The console for answers."""
    return _console(sys.stdout)


def stderr_console() -> Console:
    """The console for errors, notices and progress."""
    return _console(sys.stderr)


def _console(stream: IO[str]) -> Console:
    # A terminal of an old encoding shows "?" for a glyph it lacks; it must not end the command.
    with contextlib.suppress(AttributeError, ValueError):
        stream.reconfigure(errors="replace")  # type: ignore[attr-defined]
    console = _Console(file=stream, highlight=False, markup=False, emoji=False, soft_wrap=False)
    console.width = _width(console)
    return console


def _width(console: Console) -> int:
    if not console.is_terminal and not os.environ.get("COLUMNS", "").isdigit():
        return PLAIN_WIDTH
    return max(MIN_WIDTH, min(MAX_WIDTH, console.width))


def output(text: Text | str) -> None:
    """Print an answer on stdout, unwrapped: a command to type stays on one line."""
    stdout_console().print(text, soft_wrap=True)


def notice(text: str) -> None:
    """One line on stderr that is not an error (a torn line set aside, a ledger restored from its mirror)."""
    stderr_console().print(Text(f"note: {one_line(text, _MESSAGE_LIMIT)}"), soft_wrap=True)


def error_lines(error: MjolnirError) -> str:
    """The two lines of an error, as data: `error: what, where` and `hint: the command to type`."""
    what = one_line(error.message, _MESSAGE_LIMIT)
    hint = one_line(error.hint, _MESSAGE_LIMIT)
    return f"error: {what}\nhint: {hint}" if hint else f"error: {what}"


def print_error(error: MjolnirError) -> None:
    """The two lines on stderr; a stderr that is closed or full is no second error."""
    text = Text(error_lines(error))
    text.stylize("bold red", 0, len("error:"))
    hint = text.plain.find("\nhint:")
    if hint >= 0:
        text.stylize("cyan", hint + 1, hint + 1 + len("hint:"))
    with contextlib.suppress(OSError):
        stderr_console().print(text, soft_wrap=True)


def print_json(answer: dict[str, Any]) -> None:
    """Exactly one JSON object on stdout, in ASCII; a number that JSON lacks (NaN, inf) becomes null."""
    try:
        text = json.dumps(answer, allow_nan=False)
    except ValueError:
        text = json.dumps(_finite(answer), allow_nan=False)
    try:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        raise ReaderLeftError from None


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    return [_finite(inner) for inner in value] if isinstance(value, list | tuple) else value


def print_log(title: str, text: str, limit: int = 20_000) -> None:
    """A log or a diff below its title, as data."""
    console = stdout_console()
    console.print(Text(title, style="bold"))
    console.print(Text(whole(text, limit)), soft_wrap=True)
