"""Every error a user can meet, and the exit codes.

An error is two lines on stderr, `error: what, where` and `hint: the command to type`; `mjolnir.cli` is the one place
where it becomes an exit code. Raise the class that says who has to act; anything else is a bug and keeps its traceback.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Any


class ExitCode(IntEnum):
    """What the process says to its caller."""

    DONE = 0
    """The command did its work, whatever the verdict."""
    FINDINGS = 1
    """A verification found failures."""
    ENVIRONMENT = 2
    """Nothing was measured and no row written; also an unreadable configuration and wrong use of the command line."""
    REFUSED = 4
    """Refused because of the state of repository, ledger or frozen configuration."""
    INTERRUPTED = 130
    """Ctrl-C."""


class MjolnirError(Exception):
    """A foreseeable failure. `code` is looked up by `mjolnir explain`; `extra` joins the JSON answer beside `error`."""

    exit_code = ExitCode.ENVIRONMENT

    def __init__(self, code: str, message: str, hint: str, *, extra: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint
        self.extra = dict(extra or {})

    def as_json(self) -> dict[str, str]:
        """The `error` object of a `--json` answer."""
        return {"code": self.code, "message": self.message, "hint": self.hint}


class EnvironmentFault(MjolnirError):
    """This machine cannot do it (no git, no interpreter, no device): exit 2, nothing measured, no row."""


class ConfigFault(MjolnirError):
    """mjolnir.toml cannot be read or makes no sense: exit 2."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__("E_CONFIG", message, hint)


class UsageFault(MjolnirError):
    """Wrong use of the command line: exit 2."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__("E_USAGE", message, hint)


class Refused(MjolnirError):
    """The state of repository, ledger or frozen configuration forbids it: exit 4, no row."""

    exit_code = ExitCode.REFUSED


class FindingsError(MjolnirError):
    """A verification found failures: exit 1."""

    exit_code = ExitCode.FINDINGS


class ReaderLeftError(Exception):
    """Whoever read the answer (head, less) is gone: nothing is wrong, and there is nobody to tell."""


class Interrupted(MjolnirError):
    """Ctrl-C or SIGTERM: exit 130."""

    exit_code = ExitCode.INTERRUPTED

    def __init__(self, message: str = "interrupted", hint: str = "nothing was recorded; run the command again") -> None:
        super().__init__("E_INTERRUPTED", message, hint)
