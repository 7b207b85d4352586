"""Run by this project's Python: a long honest run to audit, every part of it: commits, kernels, refs, run documents.

    python audit_rows.py CHECKOUT COUNT

Each row is judged by the loop's own functions on drawn times: one in three goes on to a confirmation of one, two or
three rounds at eight lengths, so it costs more to judge them again than those of most runs. Only the device is missing.
"""

from __future__ import annotations

import math
import random
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bulk_ledger import common_dir_of
from sample_run import LENGTHS, REFERENCE_US, TAG

from mjolnir.config import build_config
from mjolnir.core.confirm import decide
from mjolnir.core.model import Crashed, Experiment, Incorrect, Measured, Measurement, Status, Sweep
from mjolnir.core.program_hash import program_hash
from mjolnir.loop.budget import Attempt
from mjolnir.loop.confirmation import Confirmation
from mjolnir.loop.confirmed_row import confirmation_keys, confirmed
from mjolnir.loop.guard import Candidate
from mjolnir.loop.judgement import Judged, judge_outcome
from mjolnir.loop.measure import Visit
from mjolnir.loop.record import Findings, make_row
from mjolnir.loop.rule_params import confirm_params
from mjolnir.loop.terms import Terms, Wishes, settle_terms
from mjolnir.loop.words import Words
from mjolnir.store.anchor import anchor_path, read_anchor, write_anchor
from mjolnir.store.codec import SCHEMA, decode_json, encode_row, row_hash
from mjolnir.store.git_objects import Blob, object_id
from mjolnir.store.ledger_files import LEDGER, run_folder
from mjolnir.store.run_state import RunState, read_run_state
from mjolnir.targets.protocol import KernelSource, TargetReport

SE_FLOOR = 0.002
_DEVICE = {"name": "a device of the sample run", "machine": "aarch64", "cores": 14, "tools": {"numpy": "2.4.6"}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """A kernel's text and the commit that holds it, on top of the base."""

    full: str
    blob: Blob


def kernel_text(number: int) -> bytes:
    """A program of its own for each experiment."""
    body = "".join(f"    out[{n}] = q[{n}] * TILE + page_table[{n % 3}]\n" for n in range(3))
    return f"import numpy as np\n\nTILE = {number}\n\n\ndef decode(q, page_table, out):\n{body}".encode()


def make_commits(root: Path, base: str, kernel: str, count: int) -> list[Commit]:
    """`count` commits beside one another, each with another kernel, made by one git process and pinned."""
    texts = [kernel_text(n) for n in range(count)]
    stream = b"".join(_commands(texts, base, kernel))
    _git(root, ["fast-import", "--quiet"], stream)
    _git(root, ["pack-refs", "--all"], b"")
    pins = _git(root, ["for-each-ref", "--format=%(refname) %(objectname)", f"refs/mjolnir/{TAG}/"], b"").decode()
    commits = {int(ref.rpartition("/")[2]): full for ref, full in (line.split() for line in pins.splitlines())}
    return [
        Commit(
            full=commits[n + 1],
            blob=Blob(sha=object_id("blob", text, len(base)), mode="100644", data=text),
        )
        for n, text in enumerate(texts)
    ]


def _commands(texts: list[bytes], base: str, kernel: str) -> Iterator[bytes]:
    for number, text in enumerate(texts, start=1):
        yield f"commit refs/mjolnir/{TAG}/{number}\ncommitter bench <bench@localhost> {number} +0000\n".encode()
        yield f"data 4\nidea\nfrom {base}\nM 100644 inline {kernel}\ndata {len(text)}\n".encode() + text + b"\n"


def _git(root: Path, words: list[str], stdin: bytes) -> bytes:
    return subprocess.run(["git", "-C", str(root), *words], input=stdin, capture_output=True, check=True).stdout


class Run:
    """Draws times and judges them as `evaluate` does."""

    def __init__(self, state: RunState, terms: Terms, commits: list[Commit]) -> None:
        self._state, self._terms, self._commits = state, terms, commits
        self._draw = random.Random(11)
        self._champion: Experiment | None = None

    def rows(self) -> Iterator[tuple[bytes, Experiment]]:
        """(line, row) of each experiment, chained."""
        before = None
        for number, commit in enumerate(self._commits, start=1):
            row = replace(self._row(number, commit), id=number, schema=SCHEMA, prev=before)
            plain = decode_json(encode_row(row))
            before = row_hash({key: value for key, value in plain.items() if key != "hash"})
            row = replace(row, hash=before)
            if row.status in (Status.BASELINE, Status.KEEP):
                self._champion = row
            yield encode_row(row), row

    def _row(self, number: int, commit: Commit) -> Experiment:
        outcome = self._outcome()
        screened = judge_outcome(outcome, self._champion, self._terms)
        found = self._confirm() if screened.is_pending else None
        judged = screened if found is None else self._confirmed(screened, found)
        ids = dict.fromkeys(
            ("correctness", "sweep") if judged.score else ("correctness",), f"20251011T200000-{number:06d}"
        )
        findings = Findings(
            candidate=self._candidate(commit),
            visit=self._visit(commit),
            judged=judged,
            verify_runs=ids | ({"confirm": f"20251011T200000-{number:06d}"} if found is not None else {}),
            seconds={"queue": 0.013, "correctness": 14.2, "sweep": 21.7, "confirm": 0.0, "total": 38.4},
            keys=confirmation_keys(screened, found),
            confirm=confirm_params(se_floor=SE_FLOOR, attempt=1, calibration=None),
        )
        words = Words(hypothesis=f"idea {number}: share the page tiles between the heads of a group, one tile ahead")
        return make_row(self._state, self._terms, words, findings, "2025-10-11T20:00:00+00:00")

    def _outcome(self) -> Any:
        lot = self._draw.random()
        if self._champion is not None and lot < 0.07:
            return Crashed(stage="correctness", detail="RuntimeError: boom")
        if self._champion is not None and lot < 0.14:
            return Incorrect(failures=())
        level = self._champion.score if self._champion is not None and self._champion.score else 0.8
        level *= math.exp(self._draw.gauss(0.004, 0.02))
        return Measured(
            sweep=Sweep(
                measurements=tuple(
                    Measurement(
                        length_tokens=n, reference_us=us * self._noise(), candidate_us=us / level * self._noise()
                    )
                    for n, us in zip(LENGTHS, REFERENCE_US, strict=True)
                )
            )
        )

    def _noise(self) -> float:
        return math.exp(self._draw.gauss(0, 0.008))

    def _confirm(self) -> Confirmation:
        assert self._champion is not None
        found = Confirmation(attempt=1, se_floor=SE_FLOOR)
        times, gain = self._champion.mj_us, math.exp(self._draw.gauss(0.006, 0.006))
        gain = 1.08 if self._draw.random() < 0.01 else gain
        while found.decision is None or found.decision.more:
            found.rounds.append(
                {n: (times[str(n)] * self._noise(), times[str(n)] / gain * self._noise()) for n in LENGTHS}
            )
            found.decision = decide(found.rounds, min_gain=self._terms.min_gain, attempt=1, se_floor=SE_FLOOR)
        if found.decision.status is Status.KEEP:
            found.reference_us = dict(zip(LENGTHS, REFERENCE_US, strict=True))
        return found

    def _confirmed(self, screened: Judged, found: Confirmation) -> Judged:
        assert self._champion is not None
        return confirmed(screened, found, self._champion, self._terms)

    def _candidate(self, commit: Commit) -> Candidate:
        return Candidate(
            commit=commit.full,
            parent=self._state.base_commit,
            blob=commit.blob,
            program=program_hash(commit.blob.data),
            attempt=Attempt(measurement=1, decision=1),
            champion=self._champion,
            since=self._state.base_commit,
            notes=(),
        )

    def _visit(self, commit: Commit) -> Visit:
        kernel = KernelSource(blob=commit.blob.data, name=self._state.kernel, origin=commit.full)
        return Visit(
            kernel=kernel, target=self._state.target, seed=1, report=TargetReport(outcome=None), device=_DEVICE
        )


def write_run(root: Path, count: int) -> None:
    """Ledger, mirror, anchor, commits, pins and run documents of the started run TAG, which has no rows yet."""
    common_dir = common_dir_of(root)
    state = read_run_state(common_dir, TAG)
    terms = settle_terms(build_config(state.config), state.target, Wishes(), rule=state.rule)
    run = Run(state, terms, make_commits(root, state.base_commit, state.kernel, count))
    lines, size_bytes, last = [], 0, None
    for line, row in run.rows():
        lines.append(line)
        size_bytes, last = size_bytes + len(line), row.hash
        for stage, run_id in row.verify_runs.items():
            folder = root / "research/verify" / stage
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{run_id}.json").write_text("{}\n")
    for path in (root / LEDGER, run_folder(common_dir, TAG) / "ledger.jsonl"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"".join(lines))
    anchor = anchor_path(common_dir, TAG)
    known = read_anchor(anchor) if anchor is not None else None
    if anchor is None or known is None:
        raise RuntimeError("the run has no anchor")
    write_anchor(anchor, replace(known, rows=count, size_bytes=size_bytes, last_hash=last))


if __name__ == "__main__":
    write_run(Path(sys.argv[1]).resolve(), int(sys.argv[2]))
