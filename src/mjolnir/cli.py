"""The command tree, and the one place where an error becomes an exit code.

A command module is imported only when it is called or listed: an agent pays the start-up on every call.
"""

from __future__ import annotations

import errno
import importlib
import json
import os
import sys
from collections.abc import Mapping
from typing import Any

import typer
from typer.core import TyperGroup

from mjolnir.errors import EnvironmentFault, ExitCode, Interrupted, MjolnirError, ReaderLeftError, Refused, UsageFault

_LAZY: Mapping[str, Mapping[str, str]] = {
    "mjolnir": {name: f"mjolnir.commands.{name}" for name in ("new", "demo", "doctor", "explain")},
    "verify": {name: f"mjolnir.commands.verify.{name}" for name in ("correctness", "sweep", "static", "list", "show")},
    "autoresearch": {
        name: f"mjolnir.commands.autoresearch.{name}"
        for name in ("init", "evaluate", "ledger", "show", "status", "chart", "export", "calibrate", "recheck", "audit")
    },
}
"""Group -> command -> module. Each module holds `app`, a Typer with exactly one command."""


class LazyGroup(TyperGroup):
    """A group that imports the module of a command when somebody asks for that command."""

    def list_commands(self, ctx: Any) -> list[str]:
        return [*_LAZY.get(self.name or "", {}), *super().list_commands(ctx)]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        module = _LAZY.get(self.name or "", {}).get(cmd_name)
        if module is None:
            return super().get_command(ctx, cmd_name)
        command = typer.main.get_command(importlib.import_module(module).app)
        command.name = cmd_name
        return command


_SETTINGS = {"help_option_names": ["-h", "--help"]}


def _group(name: str, text: str, epilog: str) -> typer.Typer:
    return typer.Typer(
        name=name,
        cls=LazyGroup,
        help=text,
        epilog=epilog,
        no_args_is_help=True,
        add_completion=False,
        context_settings=_SETTINGS,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
    )


app = _group(
    "mjolnir",
    "An agent makes one kernel faster; a fixed harness decides; a person can believe the result.",
    "Example: mjolnir demo",
)
verify_app = _group(
    "verify",
    "Check and time the work tree's kernel: the debug loop. Nothing here reaches the ledger.",
    "Example: mjolnir verify correctness --quick",
)
autoresearch_app = _group(
    "autoresearch",
    "Experiments: start a run, evaluate a commit, read the ledger.",
    'Example: mjolnir autoresearch evaluate -m "share each page tile between the heads of a group"',
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from mjolnir import __version__

        typer.echo(f"mjolnir {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(False, "--version", callback=_print_version, is_eager=True, help="Print the version."),
) -> None:
    pass


@verify_app.callback()
def _verify() -> None:
    pass


@autoresearch_app.callback()
def _autoresearch() -> None:
    pass


app.add_typer(verify_app)
app.add_typer(autoresearch_app)


def main(argv: list[str] | None = None) -> None:
    """The entry point: run the command, turn every foreseeable failure into two lines and an exit code."""
    words = sys.argv[1:] if argv is None else argv
    _require_streams()
    # The clock's process keeps off the workers' core: BLAS threads of the oracle would only wait for each other.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        _require_folder()
        code = app(args=words, prog_name="mjolnir", standalone_mode=False)
        sys.stdout.flush()
        if code == ExitCode.INTERRUPTED:  # the parser's own answer to Ctrl-C
            raise Interrupted
    except MjolnirError as e:
        _fail(e, words)
    except (KeyboardInterrupt, typer.Abort):
        _fail(Interrupted(), words)
    except typer.Exit as e:
        raise SystemExit(e.exit_code) from None
    except (ReaderLeftError, BrokenPipeError):
        _silence_stdout()
        raise SystemExit(ExitCode.DONE) from None
    except OSError as e:
        if e.errno not in (errno.ENOSPC, errno.EIO):
            raise
        _silence_stdout()
        message = f"the answer cannot be written: {e.strerror}; what the command recorded stays recorded"
        _fail(Refused("E_DISK_FULL", message, "make room, then: mjolnir autoresearch ledger --tail 1"), words)
    except Exception as e:
        usage = _usage_fault(e)
        if usage is None:
            raise
        _fail(usage, words)
    raise SystemExit(code or ExitCode.DONE)


def _require_streams() -> None:
    """A caller may have closed stdout or stderr; Python then has none, and printing would be an error of its own."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 (for the life of the process)


def _silence_stdout() -> None:
    """What is still buffered for a stdout that takes nothing must not fail again when Python ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _require_folder() -> None:
    """Every command looks around where it was called; a folder that was removed meanwhile has no around."""
    try:
        os.getcwd()
    except FileNotFoundError:
        raise EnvironmentFault("E_FOLDER", "the current folder does not exist any more", "cd to another one") from None


def _usage_fault(e: Exception) -> MjolnirError | None:
    """The command line parser's own complaint as a UsageFault; None for any other exception."""
    format_message = getattr(e, "format_message", None)
    if format_message is None:
        return None
    context = getattr(e, "ctx", None)
    path = context.command_path if context is not None else "mjolnir"
    if type(e).__name__ == "NoArgsIsHelpError":  # a group called without a command: its message is the whole help
        sys.stderr.write(format_message() + "\n")
        raise SystemExit(ExitCode.ENVIRONMENT)
    return UsageFault(str(format_message()).replace("\n", " "), f"{path} --help")


def _fail(error: MjolnirError, words: list[str]) -> None:
    """Two lines on stderr and, when --json was asked for, one JSON object on stdout; then exit."""
    from mjolnir.render.console import print_error

    if "--json" in words:
        answer = {"schema": _schema(words), "error": error.as_json(), **error.extra}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()
    print_error(error)
    raise SystemExit(int(error.exit_code))


_SCHEMAS = {"ledger": "ledger-view", "list": "verify-list", "sweep": "verify"}


def _schema(words: list[str]) -> str:
    """The `schema` of the command that was called: mjolnir.evaluate/1."""
    names = [w for w in words if not w.startswith("-")]
    if names[:2] == ["verify", "show"]:
        return "mjolnir.verify/1"
    inner = names[1] if len(names) > 1 and names[0] in ("autoresearch", "verify") else names[0] if names else "mjolnir"
    return f"mjolnir.{_SCHEMAS.get(inner, inner)}/1"


if __name__ == "__main__":
    main()
