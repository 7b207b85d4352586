"""The workers of a visit or a race: started for a role, loaded, and searched for processes that they left behind."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mjolnir.config import TargetSection
from mjolnir.core.model import Crashed, Tampered
from mjolnir.errors import EnvironmentFault
from mjolnir.sandbox.leftovers import find_leftovers, kill_all, own_children
from mjolnir.sandbox.process import ReplyKind, WorkerLimits, start_worker
from mjolnir.targets.cpu_leg import Leg
from mjolnir.targets.worker_words import describe_failure

CALL_LIMIT_S = 60.0
"""One call may take this long, compiling included; the slowest honest kernel here needs a few seconds."""
REFERENCE_LEG = "numpy_blas"
REFERENCE_LABEL = "numpy/BLAS"


@dataclass(frozen=True, slots=True, kw_only=True)
class LegFailure:
    """What a kernel did that ends the measurement, and the role of its leg. The reference has none: that is a fault."""

    role: str
    finding: Crashed | Tampered


def worker_limits(section: TargetSection, *, arena_bytes: int, time_limit_s: float) -> WorkerLimits:
    """The walls of one worker."""
    return WorkerLimits(
        memory_bytes=int(section.memory_limit_gib * 2**30) + arena_bytes,
        arena_bytes=arena_bytes,
        call_limit_s=min(CALL_LIMIT_S, time_limit_s),
    )


@contextlib.contextmanager
def open_leg(role: str, kernel: bytes | None, limits: WorkerLimits) -> Iterator[Leg]:
    """A fresh worker for `kernel`, None: for the reference. It is killed when the block ends."""
    needs_numba = kernel is not None and b"numba" in kernel
    name = REFERENCE_LEG if kernel is None else "candidate"
    with start_worker(limits, kernel=kernel, leg=name, needs_numba=needs_numba) as worker:
        leg = Leg(worker, role, is_reference=kernel is None)
        try:
            yield leg
        finally:
            leg.release()


def load_leg(leg: Leg, deadline: float, *, stage: str) -> Crashed | None:
    """Wait for the walls, then load; `stage` is that of the crash of a kernel that does not load.

    Raises EnvironmentFault when no worker starts here, or the reference does not load.
    """
    ready = leg.worker.wait_ready(deadline)
    if ready.kind != ReplyKind.DONE:
        why = describe_failure(ready)
        printed = leg.worker.log.strip().splitlines()
        cause = f": {printed[-1][:200]}" if printed else ""
        raise EnvironmentFault("E_WORKER", f"a worker does not start here: {why}{cause}", "mjolnir doctor")
    reply = leg.worker.load(deadline)
    if reply.kind == ReplyKind.DONE:
        return None
    detail = describe_failure(reply)
    if leg.is_reference:
        raise EnvironmentFault("E_WORKER", f"the reference does not start: {detail}", "mjolnir doctor")
    log = "\n".join(part for part in (reply.text, leg.worker.log) if part)
    return Crashed(stage=stage, detail=detail, log=log)


def end_leftovers(legs: Sequence[Leg], own: frozenset[int]) -> LegFailure | None:
    """Processes that kernels started and left: killed, and a finding.

    `own`: children of this process from before the legs were started, and the workers. An orphan that hid its session
    cannot be told from another leg's: it is laid at the door of the newest program, the candidate's, or the last leg's.
    """
    kernels = sorted((leg for leg in legs if not leg.is_reference), key=lambda leg: leg.role == "candidate")
    if not kernels:
        return None
    everyone = own | own_children()
    found = {leg: set(find_leftovers(leg.worker.pid, everyone)) for leg in kernels}
    orphans = set(find_leftovers(kernels[-1].worker.pid, own)) - set().union(*found.values())
    found[kernels[-1]] |= orphans
    kill_all(sorted(set().union(*found.values())))
    for leg, pids in found.items():
        if pids:
            detail = f"the kernel left {len(pids)} process(es) behind; killed"
            return LegFailure(role=leg.role, finding=Tampered(code="E_LEFTOVER", detail=detail))
    return None
