"""The records that pass between layers: frozen, with units in every name. Dict rows exist in store/codec.py alone."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Status(StrEnum):
    """The verdict on one experiment."""

    BASELINE = "baseline"
    """The first measured row of a run."""
    KEEP = "keep"
    """Faster beyond the rule's doubt: the new champion."""
    DISCARD = "discard"
    """Measured, or checked and wrong; not an improvement."""
    NOISY = "noisy"
    """The measurement was not trusted; the same commit may be evaluated again."""
    CRASH = "crash"
    """A stage produced no result: exception, time limit, memory limit, syntax error."""
    INVALID = "invalid"
    """The kernel or its numbers broke the rules of measuring (an integrity code says which)."""


class Rule(StrEnum):
    """The clause that decided. Integrity findings use their own code (E_STATE ...) in its place."""

    STARTING_KERNEL = "starting_kernel"
    STAGE_FAILED = "stage_failed"
    INCORRECT = "incorrect"
    BAD_NUMBERS = "bad_numbers"
    PARTIAL_SWEEP = "partial_sweep"
    REFERENCE_UNSTABLE = "reference_unstable"
    GAIN_TOO_SMALL = "gain_too_small"
    RESTS_ON_ONE_LENGTH = "rests_on_one_length"
    SLOWER_AT_SEVERAL = "slower_at_several"
    NOT_CONFIRMED = "not_confirmed"
    GAIN = "gain"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What `judge` decides.

    gain      geomean over trusted L of `relative`, minus 1 (0.05: 5 % faster than the champion); None when not reached
    relative  {L: this row's speedup / the champion's speedup}, > 1: faster than the champion
    set_aside L in tokens that were not trusted in this run, ascending
    """

    status: Status
    rule: str
    reason: str
    gain: float | None = None
    relative: Mapping[int, float] = field(default_factory=dict)
    set_aside: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """One L of a sweep. Both times are for one call, in microseconds, finite and positive, else ValueError."""

    length_tokens: int
    reference_us: float
    candidate_us: float

    def __post_init__(self) -> None:
        for name in ("reference_us", "candidate_us"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value > 0):
                raise ValueError(f"{name} at L={self.length_tokens} is {value}: a time is finite and positive")

    @property
    def speedup(self) -> float:
        """Reference time / candidate time; > 1: the candidate is faster."""
        return self.reference_us / self.candidate_us


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """The measurements of one run, one an L, ascending."""

    measurements: tuple[Measurement, ...]

    def by_length(self) -> dict[int, Measurement]:
        return {m.length_tokens: m for m in self.measurements}


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseResult:
    """One correctness case: `error` is the worst row-relative L2 (dimensionless), `limit` what is allowed.

    `error` is None when the case never produced numbers (unsupported, or out was not written).
    """

    family: str
    case: str
    passed: bool
    unsupported: bool = False
    required: bool = True
    error: float | None = None
    limit: float | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Correct and timed."""

    sweep: Sweep
    cases: tuple[CaseResult, ...] = ()
    notes: tuple[str, ...] = ()
    unsteady: str = ""
    """Why this measurement is not to be trusted (clock and witness disagree, a busy machine); empty: it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Incorrect:
    """It ran and the answer is wrong."""

    failures: tuple[CaseResult, ...]
    cases: tuple[CaseResult, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Crashed:
    """A stage ended without a result. `stage`: import, correctness, sweep or confirm; `log`: the worker's output."""

    stage: str
    detail: str
    log: str = ""
    cases: tuple[CaseResult, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Tampered:
    """An integrity finding: `code` is one of the E_... codes of `invalid`."""

    code: str
    detail: str
    cases: tuple[CaseResult, ...] = ()


Outcome = Measured | Incorrect | Crashed | Tampered


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepPolicy:
    """The numbers of the seed rule, stored with each row. Ratios; `required` in tokens."""

    min_gain: float = 0.02
    noise: float = 0.03
    reference_jump: float = 0.15
    max_set_aside: int = 2
    max_slower: int = 1
    required: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """One row of the ledger (docs/ledger.md has every key). Keys of L are decimal strings, times microseconds."""

    id: int
    ts: str
    branch: str | None = None
    commit: str | None = None
    status: Status
    reason: str | None = None
    score: float | None = None
    best_before: float | None = None
    min_gain: float | None = None
    correctness: str | None = None
    per_L: dict[str, float] = field(default_factory=dict)
    fi_us: dict[str, float] = field(default_factory=dict)
    mj_us: dict[str, float] = field(default_factory=dict)
    agent: str = ""
    hypothesis: str = ""
    sources: list[str] = field(default_factory=list)
    verify_runs: dict[str, str | None] = field(default_factory=dict)
    vs_best: dict[str, float] = field(default_factory=dict)
    schema: str | None = None
    run: str | None = None
    target: str | None = None
    device: dict[str, Any] | None = None
    commit_full: str | None = None
    parent_full: str | None = None
    kernel_blob: str | None = None
    program_hash: str | None = None
    champion_id: int | None = None
    champion_commit: str | None = None
    rule: str | None = None
    params: dict[str, Any] | None = None
    judge: dict[str, Any] | None = None
    screen: dict[str, Any] | None = None
    ab: dict[str, Any] | None = None
    confirm: dict[str, Any] | None = None
    set_aside: list[int] = field(default_factory=list)
    attempt: int | None = None
    harness_hash: str | None = None
    config_hash: str | None = None
    seconds: dict[str, float] | None = None
    codes: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    profile: dict[str, Any] | None = None
    prev: str | None = None
    hash: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RowGlance:
    """The few keys of a row that lists and counts need; the rest of the line is not decoded."""

    id: int
    status: Status
    ts: str = ""
    commit: str | None = None
    score: float | None = None
    program_hash: str | None = None
    run: str | None = None
    rule: str | None = None
    hash: str | None = None
