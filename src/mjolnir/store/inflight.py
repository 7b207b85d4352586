"""research/.inflight.json: the evaluation in progress, or what is left of one. It is reported, never measured from."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import msgspec

from mjolnir.store import atomic

SCHEMA = "mjolnir.inflight/1"
INFLIGHT = "research/.inflight.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Inflight:
    """`process` names one process of this boot (a pid is used again); `started` is an ISO 8601 time, `log` a path."""

    pid: int
    process: str
    commit: str
    hypothesis: str
    stage: str
    started: str
    log: str = ""

    def is_alive(self) -> bool:
        """True when the very process that wrote this still runs (on macOS: a process with its pid)."""
        return identify_process(self.pid) == self.process


def begin_inflight(root: Path, *, commit: str, hypothesis: str, stage: str, started: str, log: str = "") -> Inflight:
    """Say that this process evaluates `commit`. Raises Refused E_DISK_FULL or E_READ_ONLY."""
    inflight = Inflight(
        pid=os.getpid(),
        process=identify_process(os.getpid()),
        commit=commit,
        hypothesis=hypothesis,
        stage=stage,
        started=started,
        log=log,
    )
    _write(root, inflight)
    return inflight


def enter_stage(root: Path, inflight: Inflight, stage: str) -> Inflight:
    """Say that the evaluation reached `stage`. Raises Refused E_DISK_FULL or E_READ_ONLY."""
    inflight = replace(inflight, stage=stage)
    _write(root, inflight)
    return inflight


def read_inflight(root: Path) -> Inflight | None:
    """What is in progress or was left; None when there is nothing, or nothing that can be read."""
    try:
        return msgspec.convert(json.loads((root / INFLIGHT).read_bytes()), type=Inflight)
    except (OSError, ValueError, RecursionError, msgspec.MsgspecError):
        return None


def clear_inflight(root: Path) -> None:
    """Remove it, unless another process that is alive wrote it."""
    inflight = read_inflight(root)
    if inflight is not None and inflight.pid != os.getpid() and inflight.is_alive():
        return
    with atomic.disk_errors(root / INFLIGHT):
        (root / INFLIGHT).unlink(missing_ok=True)


def identify_process(pid: int) -> str:
    """A name for a running process that no later one gets; empty when there is none."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return ""
    except PermissionError:
        pass  # it runs, as another user
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        # The name in the second field may hold spaces and brackets: count from the last bracket. Field 22: start time.
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return f"pid {pid}"
    return "" if fields[0] in "ZX" else f"{boot} {pid} {fields[19]}"


def _write(root: Path, inflight: Inflight) -> None:
    path = root / INFLIGHT
    # Escaped to ASCII: a hypothesis may hold anything, half surrogate pairs included.
    data = json.dumps({"schema": SCHEMA} | asdict(inflight)).encode()
    with atomic.disk_errors(path):
        atomic.make_folder(path.parent)
        atomic.write_atomic(path, data, is_durable=False)
