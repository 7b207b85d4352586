"""Facts of the work tree's GPU kernel without a GPU, and how they differ from a commit's. Nothing reaches a ledger."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mjolnir.config import GPU_TARGETS, read_config
from mjolnir.core.static_change import StaticChange, change_json, compare_reports
from mjolnir.core.static_facts import StaticFailure, StaticReport
from mjolnir.core.static_report import report_json
from mjolnir.errors import FindingsError, UsageFault
from mjolnir.loop.guard import require_imports
from mjolnir.loop.interrupt import interruptible
from mjolnir.loop.surroundings import Surroundings
from mjolnir.loop.verify import WORK_TREE, Bench, check_request, open_bench
from mjolnir.store.git import Git
from mjolnir.targets.protocol import KernelSource
from mjolnir.targets.static_facts import StaticRequest, static_facts

ARCH_OF_TARGET = {"thor": "sm_110a", "cuda": "sm_90a"}
"""The device that is meant where --arch names none; without a GPU nobody can ask it."""
DEFAULT_TARGET = "thor"


@dataclass(frozen=True, slots=True, kw_only=True)
class StaticView:
    """What `verify static` shows. `change` None: no other commit was asked for, or it has no facts (`change_note`)."""

    report: StaticReport
    change: StaticChange | None = None
    change_note: str = ""

    def as_json(self) -> dict[str, Any]:
        """The answer without its schema."""
        against = None
        if self.change is not None:
            against = change_json(self.change)
        notes = [*self.report.notes, *([self.change_note] if self.change_note else [])]
        return {**report_json(self.report), "notes": notes, "against": against}


def open_static_bench(cwd: Path) -> Bench:
    """The kernel of the configured GPU target; of `thor` where the configuration names no GPU target.

    Raises what open_bench raises.
    """
    target = read_config(Git.find(cwd).root).run.target
    return open_bench(cwd, target if target in GPU_TARGETS else DEFAULT_TARGET)


def static_request(bench: Bench, *, arch: str, dtypes: str) -> StaticRequest:
    """The options of `verify static`. Raises UsageFault for a dtype that there is not."""
    asked = check_request(quick=True, dtypes=dtypes, match="", fail_fast=False).q_dtypes
    workload, section = bench.config.workload.paged_decode(), bench.section
    return StaticRequest(
        arch=arch or ARCH_OF_TARGET.get(bench.target, ARCH_OF_TARGET[DEFAULT_TARGET]),
        workload=workload,
        lengths=section.lengths,
        q_dtypes=asked or (workload.q_dtype,),
        bandwidth_gbps=section.bandwidth_gbps if not arch or arch == ARCH_OF_TARGET.get(bench.target) else 0.0,
        memory_bytes=int(section.memory_limit_gib * 2**30),
        time_limit_s=section.time_limit_s,
    )


def run_static(bench: Bench, request: StaticRequest, around: Surroundings, *, against: str) -> StaticView:
    """The facts, compared with those of the commit `against` (empty: with none).

    Raises FindingsError when the kernel does not compile, EnvironmentFault, UsageFault for an unknown commit or arch,
    and what require_imports raises.
    """
    source = KernelSource(blob=bench.blob.data, name=bench.section.kernel, origin=WORK_TREE)
    other = _kernel_at(bench, against) if against else None
    with interruptible():
        found = static_facts(source, request, around.observe)
        if isinstance(found, StaticFailure):
            raise _finding(found, request)
        if other is None:
            return StaticView(report=found)
        before = static_facts(other, request, around.observe)
    if isinstance(before, StaticFailure):
        return StaticView(report=found, change_note=f"{other.origin[:12]} has no facts to compare: {before.detail}")
    return StaticView(report=found, change=compare_reports(before, found, other.origin))


def _kernel_at(bench: Bench, rev: str) -> KernelSource:
    git = Git.find(bench.root)
    commit = git.resolve(rev)
    if commit is None:
        raise UsageFault(f"--against {rev!r}: there is no such commit", "git log --oneline lists them")
    blob = git.read_blob(commit, bench.section.kernel)
    require_imports(blob, f"{bench.section.kernel} at {commit[:12]}", bench.target)
    return KernelSource(blob=blob.data, name=bench.section.kernel, origin=commit)


def _finding(failure: StaticFailure, request: StaticRequest) -> FindingsError:
    chain = failure.toolchain
    extra = {
        "arch": request.arch,
        "compiles": False,
        "toolchain": chain and {"triton": chain.triton, "torch": chain.torch, "ptxas": chain.ptxas},
        "launches": [],
        "code_hash": None,
        "floor_us": {},
        "failure": {"kind": failure.kind, "detail": failure.detail, "log": failure.log},
    }
    hint = "mend the kernel, then run this again; with --json the whole complaint is under failure.log"
    return FindingsError("crash", _sentence(failure, request), hint, extra=extra)


def _sentence(failure: StaticFailure, request: StaticRequest) -> str:
    does = {
        "unsupported": "the kernel does not take this shape",
        "refused": "the kernel has no facts without a device",
        "resources": f"the kernel does not fit {request.arch}",
        "compiler": f"the kernel does not compile for {request.arch}",
        "raised": "the kernel fails before its launches",
    }
    return f"{does[failure.kind]}: {failure.detail}"
