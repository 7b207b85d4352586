"""One visit to the device, and the run documents that it leaves."""

from __future__ import annotations

import platform
import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import mjolnir
from mjolnir.core.model import Crashed
from mjolnir.loop.surroundings import Surroundings
from mjolnir.store.runs import write_document
from mjolnir.targets.protocol import (
    CheckRequest,
    KernelSource,
    SweepRequest,
    Target,
    TargetReport,
    TargetRequest,
)

SEED_BITS = 53
"""Every such integer survives a reader of JSON that knows only double floats."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """What a kernel did on the device. `device` is the target's fingerprint."""

    kernel: KernelSource
    target: str
    seed: int
    report: TargetReport
    device: dict[str, Any] = field(default_factory=dict)
    is_default: bool = True


def visit_target(
    target: Target,
    kernel: KernelSource,
    *,
    check: CheckRequest | None,
    sweep: SweepRequest | None,
    time_limit_s: float,
    around: Surroundings,
    is_default: bool = True,
) -> Visit:
    """Check and time `kernel`. The seed is drawn here, when the kernel's text is already fixed.

    Raises EnvironmentFault when nothing could be measured.
    """
    seed = secrets.randbits(SEED_BITS)
    request = TargetRequest(seed=seed, check=check, sweep=sweep, time_limit_s=time_limit_s)
    return Visit(
        kernel=kernel,
        target=target.name,
        seed=seed,
        device=target.fingerprint(),
        report=target.visit(kernel, request, around.observe),
        is_default=is_default,
    )


def failed_visit(target: Target, kernel: KernelSource, failure: Crashed) -> Visit:
    """The visit that a kernel never got to make: it failed before any device time was spent on it."""
    return Visit(
        kernel=kernel, target=target.name, seed=0, device=target.fingerprint(), report=TargetReport(outcome=failure)
    )


def stage_documents(visit: Visit) -> dict[str, dict[str, Any]]:
    """{stage: run document} of the stages that were reached, without the keys that writing adds."""
    parts = {"correctness": visit.report.correctness, "sweep": visit.report.sweep}
    return {stage: _document(visit, part) for stage, part in parts.items() if part is not None}


def save_documents(root: Path, visit: Visit) -> dict[str, str | None]:
    """Write them; {stage: run_id, None: not reached}. Raises Refused E_DISK_FULL, E_READ_ONLY."""
    written = {stage: write_document(root, stage, document) for stage, document in stage_documents(visit).items()}
    return {stage: written.get(stage) for stage in ("correctness", "sweep")}


def save_part(root: Path, visit: Visit, stage: str, part: dict[str, Any]) -> str:
    """Write the document of a further stage of the same evaluation; its run_id. Raises as `save_documents`."""
    return write_document(root, stage, _document(visit, part))


def _document(visit: Visit, part: dict[str, Any]) -> dict[str, Any]:
    params = {"target": visit.target, "kernel": visit.kernel.name, "origin": visit.kernel.origin, "seed": visit.seed}
    return {
        "default": visit.is_default,
        "host": platform.node(),
        "environment": {
            "mjolnir": mjolnir.__version__,
            "python": platform.python_version(),
            "platform": platform.platform(),
            "device": visit.device,
        },
        "gate": visit.report.gate,
        "params": {**params, **part.get("params", {})},
        "series": part.get("series", []),
        "cases": part.get("cases", []),
        "summary": part.get("summary", {}),
    }
