"""The debug loop: the work tree's kernel file checked or timed once. Nothing here reaches the ledger or `evaluate`."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mjolnir.config import Config, TargetSection, read_config
from mjolnir.core.model import Crashed, Incorrect, Measured, Outcome, Tampered
from mjolnir.core.workload import BYTES_PER_ELEMENT
from mjolnir.errors import EnvironmentFault, FindingsError, Refused, UsageFault
from mjolnir.loop.guard import require_imports
from mjolnir.loop.interrupt import interruptible
from mjolnir.loop.judgement import describe_failure
from mjolnir.loop.measure import Visit, stage_documents, visit_target
from mjolnir.loop.surroundings import Surroundings
from mjolnir.loop.terms import asked_lengths, checked_iters
from mjolnir.store.device_lock import device_lock
from mjolnir.store.git import Git
from mjolnir.store.git_objects import MAX_BLOB_BYTES, Blob, object_id
from mjolnir.store.runs import write_document
from mjolnir.targets.protocol import CheckRequest, KernelSource, SweepRequest, load_target, resolve_target_name

WORK_TREE = "work tree"
_DTYPE_NAMES = {"fp8": "fp8_e4m3", **{name: name for name in BYTES_PER_ELEMENT}}

MAX_TIME_LIMIT_S = 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """What a verify command works on: a repository, its configuration as it lies there, and the kernel's text."""

    root: Path
    config: Config
    target: str
    section: TargetSection
    blob: Blob

    @property
    def first_line(self) -> str:
        """What is measured, said before anything else."""
        return (
            f"{self.section.kernel} of the work tree (not a commit; nothing reaches the ledger), target {self.target}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """A visit's stage as a run document. `document` has a run_id when it was saved."""

    visit: Visit
    document: dict[str, Any]

    @property
    def unsteady(self) -> str:
        """Why the times are not to be trusted; empty: they are."""
        outcome = self.visit.report.outcome
        return outcome.unsteady if isinstance(outcome, Measured) else ""


def open_bench(cwd: Path, target: str | None) -> Bench:
    """The work tree's kernel on `target` (None: the configuration's).

    Raises ConfigFault, Refused E_REPOSITORY, E_NOT_REGULAR and E_IMPORT.
    """
    root = Git.find(cwd).root
    config = read_config(root)
    name = resolve_target_name(target or config.run.target)
    section = config.section(name)
    data = _read_kernel(root, section.kernel)
    blob = Blob(sha=object_id("blob", data, 40), mode="100644", data=data)
    require_imports(blob, section.kernel, name)
    return Bench(root=root, config=config, target=name, section=section, blob=blob)


def check_request(*, quick: bool, dtypes: str, match: str, fail_fast: bool) -> CheckRequest:
    """The options of `verify correctness`. Raises UsageFault for a dtype that there is not."""
    words = dtypes.replace(",", " ").split()
    strangers = [word for word in words if word not in _DTYPE_NAMES]
    if strangers:
        raise UsageFault(
            f"--dtypes: {strangers[0]!r} is no dtype of q", f"choose from: {' '.join(sorted(_DTYPE_NAMES))}"
        )
    q_dtypes = tuple(dict.fromkeys(_DTYPE_NAMES[word] for word in words))
    return CheckRequest(quick=quick, q_dtypes=q_dtypes, match=match, fail_fast=fail_fast)


def sweep_request(bench: Bench, *, lengths: str, iters: int | None, gate: bool) -> SweepRequest:
    """The options of `verify sweep`. Raises UsageFault."""
    wanted = asked_lengths(lengths) if lengths else bench.section.lengths
    return SweepRequest(lengths=wanted, iters=checked_iters(iters), gate=gate)


def plan_document(bench: Bench, sweep: SweepRequest) -> dict[str, Any]:
    """What `run_sweep` would do, in the form of the document that it would write."""
    params = {"lengths": list(sweep.lengths), "iters": sweep.iters, "gate": sweep.gate}
    where = {"target": bench.target, "kernel": bench.section.kernel, "origin": WORK_TREE}
    head = {"schema": "mjolnir.verify/1", "stage": "sweep", "run_id": None, "dry_run": True}
    return {**head, "params": {**where, **params}, "series": [], "cases": [], "summary": {}}


def run_check(bench: Bench, check: CheckRequest, around: Surroundings, *, time_limit_s: float | None) -> Verified:
    """Check the kernel and save the run document. Raises EnvironmentFault, UsageFault when no case matches."""
    if time_limit_s is not None and not 1 <= time_limit_s <= MAX_TIME_LIMIT_S:
        raise UsageFault(f"--timeout {time_limit_s} is no time limit", f"from 1 to {MAX_TIME_LIMIT_S} seconds")
    is_default = check == CheckRequest(quick=False, fail_fast=False) and time_limit_s is None
    visit = _visit(bench, around, check=check, sweep=None, time_limit_s=time_limit_s, is_default=is_default)
    if visit.report.outcome is None and not (visit.report.correctness or {}).get("cases"):
        raise UsageFault(f"--match {check.match!r} matches no case", "mjolnir verify correctness shows every family")
    return Verified(visit=visit, document=_take(bench, visit, "correctness", is_saved=True))


def run_sweep(bench: Bench, sweep: SweepRequest, around: Surroundings, *, is_saved: bool) -> Verified:
    """Time reference and kernel at every length. Raises EnvironmentFault."""
    is_default = sweep == SweepRequest(lengths=bench.section.lengths)
    visit = _visit(bench, around, check=None, sweep=sweep, time_limit_s=None, is_default=is_default)
    return Verified(visit=visit, document=_take(bench, visit, "sweep", is_saved=is_saved))


def require_passed(verified: Verified, answer: Mapping[str, Any]) -> None:
    """Raises FindingsError, which carries `answer`, when the kernel failed. A machine that was busy is no failure."""
    outcome = verified.visit.report.outcome
    if outcome is None or isinstance(outcome, Measured):
        return
    code = _word(outcome)
    hint = f"mend the kernel, then run this again; mjolnir explain {code}"
    raise FindingsError(code, describe_failure(outcome), hint, extra=answer)


def _word(outcome: Outcome | None) -> str:
    """The outcome in a word that `mjolnir explain` knows."""
    match outcome:
        case None:
            return "passed"
        case Measured(unsteady=unsteady):
            return "noisy" if unsteady else "passed"
        case Incorrect():
            return "incorrect"
        case Crashed():
            return "crash"
        case Tampered(code=code):
            return code


def _read_kernel(root: Path, name: str) -> bytes:
    """The work tree's file, never through a link. Raises Refused E_NOT_REGULAR."""
    path, why = root / name, ""
    try:
        info = path.lstat()
        if not stat.S_ISREG(info.st_mode):
            why = "is no regular file"
        elif info.st_size > MAX_BLOB_BYTES:
            why = f"has {info.st_size:,} bytes; at most {MAX_BLOB_BYTES:,} are measured"
        else:
            fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
            with os.fdopen(fd, "rb") as file:
                return file.read()
    except OSError as e:
        why = f"cannot be read: {e.strerror}"
    raise Refused(
        "E_NOT_REGULAR", f"{name} {why}", "write it as a plain file, or mend [targets] kernel in mjolnir.toml"
    )


def _visit(
    bench: Bench,
    around: Surroundings,
    *,
    check: CheckRequest | None,
    sweep: SweepRequest | None,
    time_limit_s: float | None,
    is_default: bool,
) -> Visit:
    target = load_target(bench.target, bench.config)
    with interruptible():
        target.preflight()
        with device_lock(target.name, lambda pid: around.notice(f"process {pid or '?'} is measuring: waiting for it")):
            return visit_target(
                target,
                KernelSource(blob=bench.blob.data, name=bench.section.kernel, origin=WORK_TREE),
                check=check,
                sweep=sweep,
                time_limit_s=bench.section.time_limit_s if time_limit_s is None else time_limit_s,
                around=around,
                is_default=is_default,
            )


def _take(bench: Bench, visit: Visit, stage: str, *, is_saved: bool) -> dict[str, Any]:
    """The stage's document; of a stage that was not reached one that says so. Raises EnvironmentFault without any."""
    document = stage_documents(visit).get(stage)
    if document is None:
        outcome = visit.report.outcome
        if outcome is None:
            raise EnvironmentFault("E_TARGET", f"the target {visit.target} answered nothing", "mjolnir doctor")
        document = {
            "default": visit.is_default,
            "params": {"seed": visit.seed},
            "series": [],
            "cases": [],
            "summary": {},
        }
    document["summary"] = {**document["summary"], "outcome": _word(visit.report.outcome)}
    document["kernel_blob"] = bench.blob.sha
    if isinstance(visit.report.outcome, Crashed):
        document["log"] = visit.report.outcome.log
    run_id = write_document(bench.root, stage, document) if is_saved else None
    return {"schema": "mjolnir.verify/1", "stage": stage, "run_id": run_id, **document}
