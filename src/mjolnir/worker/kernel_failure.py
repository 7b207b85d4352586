"""What went wrong with a kernel, in one line in the words of whoever complained, and the whole text for the log."""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import Any

from mjolnir.worker.legs import NoDecodeError
from mjolnir.worker.stub_driver import HostCodeError

UNSUPPORTED, REFUSED, RESOURCES, COMPILER, RAISED = "unsupported", "refused", "resources", "compiler", "raised"
_DETAIL_CHARS, _LOG_CHARS = 500, 6000


def describe_failure(e: BaseException, kernel_path: str) -> dict[str, str]:
    """{kind, detail, log} of an exception that loading, compiling or calling a kernel raised."""
    try:
        kind, text, line = _kind(e), _text(e), _kernel_line(e, kernel_path)
        log = "".join(traceback.format_exception(e))[-_LOG_CHARS:]
    except BaseException:  # noqa: BLE001  (an exception whose own text raises)
        return {"kind": RAISED, "detail": type(e).__name__, "log": ""}
    where = f" (kernel line {line})" if line else ""
    return {"kind": kind, "detail": " ".join(text.split())[:_DETAIL_CHARS] + where, "log": log}


def _kind(e: BaseException) -> str:
    names = {t.__name__ for t in type(e).__mro__}
    if isinstance(e, NotImplementedError):
        return UNSUPPORTED
    if isinstance(e, HostCodeError | NoDecodeError):
        return REFUSED
    if "OutOfResources" in names:
        return RESOURCES
    is_pass = isinstance(e, RuntimeError) and "PassManager" in str(e)
    return COMPILER if names & {"CompilationError", "PTXASError"} or is_pass else RAISED


def _text(e: BaseException) -> str:
    """The message; of a compiler's error without the source that it quotes, which the log has."""
    deepest = _deepest_compilation_error(e)
    if deepest is None:
        name = "" if isinstance(e, HostCodeError | NoDecodeError) else f"{type(e).__name__}: "
        return f"{name}{e}"
    message = getattr(deepest, "error_message", None)
    if not message and deepest.__cause__ is not None:
        message = f"{type(deepest.__cause__).__name__}: {deepest.__cause__}"
    return f"{type(deepest).__name__}: {message or deepest}"


def _deepest_compilation_error(e: BaseException) -> Any:
    """The innermost of errors that each name the call in which the next one happened."""
    found: BaseException | None = None
    seen: BaseException | None = e
    while seen is not None:
        if any(t.__name__ == "CompilationError" for t in type(seen).__mro__):
            found = seen
        seen = seen.__cause__
    return found


def _kernel_line(e: BaseException, kernel_path: str) -> int:
    """The line of the kernel's file; 0: not known."""
    deepest = _deepest_compilation_error(e)
    if deepest is not None:
        return _compiled_line(deepest, kernel_path)
    if isinstance(e, SyntaxError):
        return e.lineno or 0
    lines = [frame.lineno or 0 for frame in traceback.extract_tb(e.__traceback__) if frame.filename == kernel_path]
    return lines[-1] if lines else 0


def _compiled_line(e: Any, kernel_path: str) -> int:
    """A compilation error counts lines from the `def` of its function, whose text it holds."""
    inner, source = getattr(getattr(e, "node", None), "lineno", 0), getattr(e, "src", None) or ""
    head = source.partition("\n")[0].strip()
    lines = [line.strip() for line in Path(kernel_path).read_text(encoding="utf-8", errors="replace").splitlines()]
    return lines.index(head) + inner if inner and head in lines else 0
