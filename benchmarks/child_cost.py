"""What a command costs as a whole process, children included: CPU time and peak memory, as the system counts them."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

_LAUNCHER = Path(__file__).resolve().parent / "launch.py"
_TAIL_CHARACTERS = 2000
_UNIT_OF_MAXRSS_BYTES = 1 if os.uname().sysname == "Darwin" else 1024


class ChildFailed(RuntimeError):
    """A measured command ended badly: its numbers mean nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """`cpu_s` user and system time of the process and the children it waited for; `peak_bytes` the largest resident
    size that one of them reached; `wall_s` from start to end; `out` what it printed on stdout."""

    cpu_s: float
    peak_bytes: int
    wall_s: float
    out: str


def run_child(
    command: Sequence[str | Path],
    *,
    cwd: Path,
    env: Mapping[str, str],
    limit_s: float = 1800.0,
) -> Cost:
    """Run `command` to its end, stdout and stderr into files (so no terminal). Raises ChildFailed."""
    words = [str(word) for word in command]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, tempfile.TemporaryFile() as report:
        launcher = subprocess.Popen(
            [sys.executable, "-I", "-S", str(_LAUNCHER), str(report.fileno()), *words],
            cwd=cwd,
            env=dict(env),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            pass_fds=(report.fileno(),),
            start_new_session=True,
        )
        try:
            launcher.wait(limit_s)
        except subprocess.TimeoutExpired:
            pass
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(launcher.pid, signal.SIGKILL)
            launcher.wait()
        code, cpu_s, maxrss, wall_s = [float(x) for x in _text(report).split()] or (-1.0, 0.0, 0.0, 0.0)
        out_text, err_text = _text(out), _text(err)
    if code:
        told = (out_text[-_TAIL_CHARACTERS:] + err_text[-_TAIL_CHARACTERS:]).strip()
        ended = f"did not end within {limit_s:g} s" if code == -1 and not wall_s else f"ended with {code:g}"
        raise ChildFailed(f"`{' '.join(words)}` {ended}:\n{told}")
    return Cost(cpu_s=cpu_s, peak_bytes=int(maxrss) * _UNIT_OF_MAXRSS_BYTES, wall_s=wall_s, out=out_text)


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode("utf-8", "replace")
