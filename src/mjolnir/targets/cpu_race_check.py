"""Before a race every kernel's worker answers check calls, as each worker of a visit does before it is timed.

So a kernel cannot tell by what it is asked whether it is in a visit or in a race, and every worker has compiled.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Sequence
from dataclasses import replace

from mjolnir.config import TargetSection
from mjolnir.core.case_plan import plan_cases
from mjolnir.core.cases import Case
from mjolnir.core.model import CaseResult, Crashed, Tampered
from mjolnir.core.workload import PagedDecode
from mjolnir.oracle.trial import Trial, make_trial
from mjolnir.targets.cpu_check import run_cases
from mjolnir.targets.cpu_leg import Leg
from mjolnir.targets.protocol import Progress

MAX_KEPT_BYTES = 1 << 28
"""KV caches of trials that wait for another leg; one that does not fit is computed again."""


class RaceCheck:
    """The quick cases drawn from the race's `seed`. All kernels of a set get the same ones, so that they start alike.

    A visit spreads its cases over its workers, and so does this: each set gets the share of one such worker.
    """

    def __init__(self, section: TargetSection, workload: PagedDecode, seed: int) -> None:
        self.cases = plan_cases(workload, section.lengths, quick=True, seed=seed)
        self._seed = seed
        self._workers = section.worker_pairs
        self._first = random.Random(f"share {seed}").randrange(self._workers)

    def share(self, set_number: int) -> tuple[Case, ...]:
        """The cases of every kernel of one set, in their order."""
        return self.cases[(self._first + set_number) % self._workers :: self._workers]

    def trials(self, set_number: int, legs: int) -> SharedTrials:
        """The cases of a set for so many legs."""
        return SharedTrials(self.share(set_number), self._seed, legs)


class SharedTrials:
    """Trials that several legs run side by side: a small one is computed once, by whoever asks first."""

    def __init__(self, cases: Sequence[Case], seed: int, legs: int) -> None:
        self.cases = tuple(cases)
        self.seed = seed
        self._lock = threading.Lock()
        self._made: dict[str, tuple[Trial, int]] = {}
        self._legs = legs

    def make(self, case: Case, seed: int) -> Trial:
        """The trial with a KV cache of the asker's own: the calls of a trial change it."""
        with self._lock:
            made = self._made.pop(case.name) if case.name in self._made else (make_trial(case, seed), self._legs)
            trial, left = made
            kept_bytes = sum(kept.inputs.kv_cache.nbytes for kept, _ in self._made.values())
            if left > 1 and kept_bytes + trial.inputs.kv_cache.nbytes <= MAX_KEPT_BYTES:
                self._made[case.name] = trial, left - 1
            return replace(trial, inputs=replace(trial.inputs, kv_cache=trial.inputs.kv_cache.copy()))


def check_raced(leg: Leg, trials: SharedTrials, deadline: float, *, stage: str) -> Crashed | Tampered | None:
    """Run the cases on `leg`. A wrong answer is E_PROFILED: a kernel that is raced was right before. `stage`: of a
    crash."""
    run = run_cases(
        [leg], trials.cases, trials.seed, fail_fast=True, deadline=deadline, observe=_ignore, make=trials.make
    )
    if isinstance(run.failure, Crashed):
        return replace(run.failure, stage=stage)
    wrong = next((r for r in run.results if not r.passed), None)
    return run.failure or (None if wrong is None else _profiled(wrong))


def _profiled(wrong: CaseResult) -> Tampered:
    detail = f"right in its check, wrong when raced: {wrong.case}: {wrong.detail}"
    return Tampered(code="E_PROFILED", detail=detail)


def _ignore(progress: Progress) -> None:
    del progress
