"""The seam to a device: a target takes a kernel's text and answers with an Outcome. It is found by name.

A package outside this tree adds a device or a kernel family by an entry point in the group `mjolnir.targets` that
names a callable `(config: Config) -> Target`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from typing import Any, Protocol

from mjolnir.config import Config
from mjolnir.core.model import Crashed, Outcome, Tampered
from mjolnir.errors import EnvironmentFault

ENTRY_POINT_GROUP = "mjolnir.targets"


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelSource:
    """The text under test. `name` is its path in the repository, for people; `origin` a commit id or "work tree"."""

    blob: bytes
    name: str
    origin: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRequest:
    """Correctness: `quick` is the subset that `evaluate` runs; `q_dtypes` empty means the workload's own."""

    quick: bool = True
    q_dtypes: tuple[str, ...] = ()
    match: str = ""
    fail_fast: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepRequest:
    """Timing: `lengths` in tokens; `iters` = calls of a batch, None: chosen by the target from a pilot."""

    lengths: tuple[int, ...]
    iters: int | None = None
    gate: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetRequest:
    """One visit to the device. `seed` is drawn by the parent after the kernel was read, and never leaves it.

    A part that is None is not run. `time_limit_s` bounds each stage and ends the whole process group.
    """

    seed: int
    check: CheckRequest | None = None
    sweep: SweepRequest | None = None
    time_limit_s: float = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """A step of a long visit, for people: `done` of `total` in `stage` (correctness, sweep, race ...)."""

    stage: str
    detail: str
    done: int
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Entrant:
    """One leg of a race. `role`: champion, candidate, baseline or reference; `kernel` None: the target's reference."""

    role: str
    kernel: KernelSource | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RaceRequest:
    """Legs timed beside one another, each in fresh workers of its own. `seed` as in TargetRequest.

    `worker_sets`: how many sets of fresh workers, one worker an entrant, are timed one after another; a set sees every
    L. `lengths`, `iters`, `gate` as in SweepRequest.
    """

    seed: int
    lengths: tuple[int, ...]
    worker_sets: int = 1
    iters: int | None = None
    gate: bool = True
    time_limit_s: float = 300.0


Observe = Callable[[Progress], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetReport:
    """What came of a visit. `correctness` and `sweep` are the stage parts of a run document (plain JSON values with the
    keys params, series, cases, summary), None for a stage that was not reached; `seconds` by stage."""

    outcome: Outcome | None
    """None when only a check was asked for and it passed."""
    correctness: dict[str, Any] | None = None
    sweep: dict[str, Any] | None = None
    seconds: dict[str, float] = field(default_factory=dict)
    gate: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class RaceReport:
    """What came of a race: the time of one call in microseconds by role and L, or who failed and how.

    `failure` is None for a race that ended; else `failed_role` is whose it is (never the reference: that is an
    EnvironmentFault). `unsteady` as in core.model.Measured. `document` is the stage part of a run document.
    """

    times_us: dict[str, dict[int, float]] = field(default_factory=dict)
    failure: Crashed | Tampered | None = None
    failed_role: str = ""
    unsteady: str = ""
    notes: tuple[str, ...] = ()
    document: dict[str, Any] = field(default_factory=dict)
    gate: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One line of `doctor`: what was found, and what to type when it is not ok."""

    name: str
    ok: bool
    found: str
    hint: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StaticFacts:
    """What is known of a kernel before any device was asked; never a time.

    `code_hash`: over machine code and launches (kernel, grid, constexprs, warps, stages, scalar arguments, order) at
    every L: equal hashes are one program to the device. `label`: the facts in a line. `failure`: it does not compile,
    or exceeds a limit of a launch. `arch`: what it was compiled for.
    """

    arch: str
    code_hash: str = ""
    label: str = ""
    failure: Crashed | None = None


class StaticTarget(Protocol):
    """What a target for a GPU has beside Target: facts come before the device, which may not even answer."""

    def static_facts(self, kernel: KernelSource, lengths: Sequence[int], observe: Observe) -> StaticFacts:
        """Compile `kernel` for the target's arch with the launches that it makes at `lengths`. Raises EnvironmentFault
        when nothing can be compiled here; whatever the kernel does is a failure of the facts."""


class Target(Protocol):
    """What the loop needs of a device."""

    name: str

    def preflight(self) -> None:
        """Raises EnvironmentFault when nothing can be measured here."""

    def checks(self) -> list[Check]:
        """The preconditions that `doctor` prints, in order."""

    def fingerprint(self) -> dict[str, Any]:
        """What the device is: plain JSON values that stay equal while it is the same device."""

    def visit(self, kernel: KernelSource, request: TargetRequest, observe: Observe) -> TargetReport:
        """Check and time one kernel. Raises EnvironmentFault; whatever the kernel does is an Outcome."""

    def race(self, entrants: Sequence[Entrant], request: RaceRequest, observe: Observe) -> RaceReport:
        """Time kernels, and the reference where it is an entrant, interleaved in one run; the entrants take their turns
        in the order given. Every timed answer is verified. Raises EnvironmentFault."""


def load_target(name: str, config: Config) -> Target:
    """The target called `name` ("auto": the first GPU target that answers, else cpu). Raises EnvironmentFault."""
    found = {e.name: e for e in entry_points(group=ENTRY_POINT_GROUP)}
    name = resolve_target_name(name)
    if name not in found:
        raise EnvironmentFault(
            "E_TARGET",
            f"no target named {name!r} is installed here",
            f"choose one of: {', '.join(sorted(found)) or '(none is installed)'}",
        )
    target: Target = found[name].load()(config)
    return target


def resolve_target_name(name: str) -> str:
    """The name that "auto" stands for on this machine."""
    return "cpu" if name == "auto" else name
