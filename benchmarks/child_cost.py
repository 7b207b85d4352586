"""What a command costs as a whole process, children included: CPU time and peak memory, as the system counts them."""

from __future__ import annotations

import os
import resource
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

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
    allowed: Sequence[int] = (0,),
) -> Cost:
    """Run `command` to its end, stdout and stderr into files (so no terminal). Raises ChildFailed."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        start = time.monotonic()
        child = subprocess.Popen(
            [str(word) for word in command], cwd=cwd, env=dict(env), stdin=subprocess.DEVNULL, stdout=out, stderr=err
        )
        watchdog = threading.Timer(limit_s, child.kill)
        watchdog.start()
        try:
            _, status, usage = os.wait4(child.pid, 0)
        except BaseException:
            child.kill()
            raise
        finally:
            watchdog.cancel()
        wall_s = time.monotonic() - start
        child.returncode = os.waitstatus_to_exitcode(status)
        out_text, err_text = _text(out), _text(err)
    if child.returncode not in allowed:
        words = " ".join(str(word) for word in command)
        told = (out_text[-_TAIL_CHARACTERS:] + err_text[-_TAIL_CHARACTERS:]).strip()
        raise ChildFailed(f"`{words}` ended with {child.returncode}:\n{told}")
    peak_bytes = usage.ru_maxrss * _UNIT_OF_MAXRSS_BYTES
    return Cost(cpu_s=usage.ru_utime + usage.ru_stime, peak_bytes=peak_bytes, wall_s=wall_s, out=out_text)


def require_small_parent(cost: Cost) -> None:
    """A child inherits the peak of the process that started it: a large parent would hide what the child needs.

    Raises RuntimeError. The benchmark keeps its own process small by doing every library call in a child.
    """
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _UNIT_OF_MAXRSS_BYTES
    if own >= cost.peak_bytes:
        raise RuntimeError(
            f"the benchmark's own process ({own} bytes) hides its child's peak ({cost.peak_bytes} bytes)"
        )


def _text(file: object) -> str:
    file.seek(0)  # type: ignore[attr-defined]
    return file.read().decode("utf-8", "replace")  # type: ignore[attr-defined,no-any-return]
