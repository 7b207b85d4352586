"""What the harness answers to a file: import scan, program hash, then a visit to the cpu target, as evaluate."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corpus.entry import MEASURED, Entry
from mjolnir.config import Config, parse_config
from mjolnir.core.model import Experiment, RowGlance, Status
from mjolnir.core.program_hash import program_hash
from mjolnir.core.stats import geomean
from mjolnir.errors import Refused
from mjolnir.loop.budget import count_attempt
from mjolnir.loop.guard import require_imports
from mjolnir.loop.judgement import judge_outcome
from mjolnir.loop.measure import visit_target
from mjolnir.loop.surroundings import Surroundings
from mjolnir.loop.terms import Wishes, settle_terms
from mjolnir.render.text import one_line
from mjolnir.store.git_objects import REGULAR, Blob
from mjolnir.targets.protocol import CheckRequest, KernelSource, SweepRequest, load_target

LENGTHS = (128, 4096)
BATCH_CALLS = 4
"""Short batches: what is timed here need not be told apart to a percent."""
MAX_GAIN = 1.6
"""A neutralised cheat may not be this much faster than the same work done honestly; each would gain twofold or more."""
SCAN_SET_ASIDE = frozenset({"wall", "fault"})
"""Kinds that are run though the import scan refuses them: the walls and limits have to hold without it."""
MAX_TRIES = 2
"""A noisy measurement is repeated, as evaluate allows. Noisy again: nothing was decided, nobody gained."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """`status`: refused, discard, invalid, crash, noisy, measured or neutralised. `gain`: over the honest twin."""

    status: str
    code: str = ""
    detail: str = ""
    gain: float | None = None
    seconds: float = 0.0
    wrong: str = ""
    """Why the answer is not the right one; empty: it is."""


class Harness:
    """Answers files; honest twins are measured once."""

    def __init__(self, surroundings: Surroundings | None = None) -> None:
        self._around = surroundings or Surroundings()
        self._twins: dict[Path, dict[str, float]] = {}

    def answer(self, entry: Entry) -> Answer:
        """What evaluate would say, and whether it is right. A new seed each time."""
        start = time.monotonic()
        try:
            status, code, detail, gain, wrong = self._answer(entry)
        except Refused as e:
            status, code, detail, gain, wrong = "refused", e.code, e.message, None, ""
        wrong = wrong or _judge(entry, status, f"{code} {detail}")
        seconds = round(time.monotonic() - start, 1)
        return Answer(status=status, code=code, detail=one_line(detail), gain=gain, seconds=seconds, wrong=wrong)

    def _answer(self, entry: Entry) -> tuple[str, str, str, float | None, str]:
        blob = entry.path.read_bytes()
        if entry.kind not in SCAN_SET_ASIDE:
            require_imports(Blob(sha="", mode=REGULAR, data=blob), entry.name, "cpu")
        if entry.measured_before is not None:
            _require_new_program(blob, entry.measured_before.read_bytes())
        config = make_config(worker_pairs=entry.worker_pairs, q_dtype=entry.q_dtype)
        for _ in range(MAX_TRIES):
            status, code, detail, per_length, cases = self._visit(blob, entry, config)
            if status != Status.NOISY or "noisy" in entry.answers:
                break
        if status != Status.BASELINE:
            return status, code, detail, None, ""
        if entry.unsupported and not any(c["unsupported"] for c in cases if entry.unsupported in c["case"]):
            return MEASURED, code, detail, None, f"no case with {entry.unsupported!r} was called unsupported"
        if entry.no_gain_over is None:
            return MEASURED, code, detail, None, ""
        gain = _gain(per_length, self._twin(entry.no_gain_over))
        wrong = f"{gain:.2f} times as fast as {entry.no_gain_over.name}" if gain > MAX_GAIN else ""
        return "neutralised", code, detail, gain, wrong

    def _visit(self, blob: bytes, entry: Entry, config: Config) -> tuple[str, str, str, dict[str, float], list[Any]]:
        """Status, code, reason, speedup by L, cases."""
        visit = visit_target(
            load_target("cpu", config),
            KernelSource(blob=blob, name=entry.name, origin="corpus"),
            check=CheckRequest(),
            sweep=SweepRequest(lengths=LENGTHS, iters=BATCH_CALLS, gate=False),
            time_limit_s=entry.time_limit_s,
            around=self._around,
        )
        outcome = visit.report.outcome
        assert outcome is not None
        judged = judge_outcome(outcome, None, settle_terms(config, "cpu", Wishes(gate=False)))
        cases = (visit.report.correctness or {}).get("cases", [])
        code = " ".join(judged.codes)
        return judged.verdict.status.value, code, judged.verdict.reason, judged.per_length, cases

    def _twin(self, path: Path) -> dict[str, float]:
        if path not in self._twins:
            twin = Entry(path=path, name=path.name, kind="control", is_control=True, answers=(MEASURED,))
            for _ in range(MAX_TRIES):
                status, _, detail, per_length, _ = self._visit(path.read_bytes(), twin, make_config())
                if status == Status.BASELINE:
                    break
            if not per_length:
                raise RuntimeError(f"the honest kernel {path.name} is answered {status}: {detail}")
            self._twins[path] = per_length
        return self._twins[path]


def make_config(*, worker_pairs: int = 1, q_dtype: str = "") -> Config:
    """The configuration of the corpus: two lengths, one pair of workers, so that hundreds of visits take minutes."""
    text = f"[targets.cpu]\nlengths = {list(LENGTHS)}\nworker_pairs = {worker_pairs}\nmemory_limit_gib = 1.0\n"
    return parse_config(text + (f'[workload]\nq_dtype = "{q_dtype}"\n' if q_dtype else ""))


def _require_new_program(blob: bytes, before: bytes) -> None:
    """As evaluate on a ledger with one row, for `before`. Raises Refused E_SAME_PROGRAM."""
    row = RowGlance(id=1, status=Status.BASELINE, program_hash=program_hash(before), rule="starting_kernel")
    no_row: Experiment | None = None
    count_attempt([row], program_hash(blob), again=False, read_row=lambda number: no_row)


def _gain(per_length: dict[str, float], twin: dict[str, float]) -> float:
    return geomean([per_length[n] / twin[n] for n in twin])


def _judge(entry: Entry, status: str, text: str) -> str:
    """Noisy is right wherever an ordinary measurement is: no finding, and no number that counts."""
    right = {*entry.answers, *(["noisy"] if {MEASURED, "neutralised"} & {*entry.answers} else [])}
    if status not in right:
        return f"answered {status}"
    missing = [word for word in entry.words if word not in text]
    return f"the answer does not say {' '.join(missing)}" if missing else ""
