"""`make bench-verdicts`: are real verdicts to be believed? Whole evaluations on this machine's CPU, nothing simulated.

    python benchmarks/verdicts.py                 60 no-ops and 20 changes worth +10 %; more than an hour
    python benchmarks/verdicts.py --only no-ops   one part: no-ops or gains
    python benchmarks/verdicts.py --quick         3 and 2 at small terms: shows that the code runs, judges nothing

no-ops  each evaluates the starting kernel with one more question that is never answered with yes: another program to
        the tool, the same work to the machine. None may be kept.
gains   the kernel does work that it does not need, and each change removes so much of it that the whole takes 1/1.1 of
        its time. At least 18 of 20 must be kept. A change that is missed is not tried again: the next one has the same
        champion, other spare work that takes the same time, and counts as the next.

An evaluation that is noisy decides nothing and is measured again, once. Writes verdicts/<part>.jsonl, which is the
run's own ledger, and verdicts/results.json with the commit. Give it a quiet machine, and the tool as it was committed.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from checkout import HERE, OUR_COMMAND, Place
from child_cost import run_child
from evaluate_cost import KERNEL, add_question
from machine import ROOT, commit_id, describe_machine

SCHEMA = "mjolnir.verdicts/1"
TAG = "bench"
GAIN = 1.1
TILED = "src/mjolnir_kernel/examples/cpu_decode_tiled.py"
FOLDER = HERE / "verdicts"
_WRITING = "    out[...] = "
_SPARE_WORK = """\
    spare = np.zeros(q.shape, np.float32)
    for part in {parts}:
        fewer = np.maximum(1, part * seq_lens).astype(np.int32)
        attend(decode_tile, q.astype(np.float32), kv_cache.view(bits), page_table, fewer, scale, spare)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """`count` evaluations; `is_good` of how many were kept; `bound` in words."""

    name: str
    count: int
    bound: str
    is_good: Callable[[int, int], bool]


PARTS = (
    Part(name="no-ops", count=60, bound="0 of 60 kept", is_good=lambda kept, count: kept == 0),
    Part(name="gains", count=20, bound="at least 18 of 20 kept", is_good=lambda kept, count: kept * 20 >= 18 * count),
)
_QUICK = {"no-ops": 3, "gains": 2}


def spare_parts(total: float) -> list[float]:
    """Shares of the whole work, each at most 1, that make `total` times the work together with the real one."""
    rest = total - 1
    whole = int(rest)
    return [1.0] * whole + ([round(rest - whole, 6)] if rest - whole > 1e-3 else [])


def with_spare_work(text: str, total: float) -> str:
    """The tiled kernel's text, doing `total` times its work."""
    head, writing, tail = text.rpartition(_WRITING)
    if not writing:
        raise RuntimeError(f"{TILED} has no line that starts with {_WRITING!r} any more")
    parts = tuple(spare_parts(total))
    return f"{head}{_SPARE_WORK.format(parts=parts) if parts else ''}{writing}{tail}"


class Run:
    """One run of the tool in a scratch repository."""

    def __init__(self, place: Place, part: Part, text: str | None, *, is_quick: bool) -> None:
        self._place, self._part = place, part
        self.root = place.folder / part.name
        run_child([OUR_COMMAND, "new", self.root, "--target", "cpu"], cwd=place.folder, env=place.env)
        if text is not None:
            self._kernel.write_text(text, encoding="utf-8")
        if is_quick:
            self._use_small_terms()
        self._git("commit", "-q", "--allow-empty", "-a", "-m", "the starting kernel of this part")
        cost = run_child([OUR_COMMAND, "autoresearch", "init", TAG], cwd=self.root, env=place.env)
        _say(f"{part.name}: init with baseline and calibration took {cost.wall_s:.0f} s")

    @property
    def _kernel(self) -> Path:
        return self.root / KERNEL

    def read(self) -> str:
        """The champion's kernel: after each evaluation HEAD is the champion."""
        return self._kernel.read_text(encoding="utf-8")

    def evaluate(self, text: str, hypothesis: str) -> list[dict[str, Any]]:
        """The answers: two where the first was noisy. Afterwards HEAD is the champion's commit."""
        before = self._git("rev-parse", "HEAD")
        self._kernel.write_text(text, encoding="utf-8")
        self._git("commit", "-q", "-a", "-m", hypothesis)
        answers: list[dict[str, Any]] = []
        while not answers or (answers[-1]["status"] == "noisy" and len(answers) < 2):
            words = ["autoresearch", "evaluate", "-m", hypothesis, "--json"]
            cost = run_child([OUR_COMMAND, *words], cwd=self.root, env=self._place.env)
            answers.append({**json.loads(cost.out), "wall_s": cost.wall_s})
        if answers[-1]["status"] != "keep":
            self._git("reset", "-q", "--hard", before)
        return answers

    def audit(self) -> dict[str, Any]:
        """What `audit` says of the run."""
        cost = run_child([OUR_COMMAND, "autoresearch", "audit", "--json"], cwd=self.root, env=self._place.env)
        found: dict[str, Any] = json.loads(cost.out)
        return found

    def status(self) -> dict[str, Any]:
        cost = run_child([OUR_COMMAND, "autoresearch", "status", "--json"], cwd=self.root, env=self._place.env)
        found: dict[str, Any] = json.loads(cost.out)
        return found

    def _use_small_terms(self) -> None:
        path = self.root / "mjolnir.toml"
        text = path.read_text(encoding="utf-8")
        for key, value in (("lengths", [128, 1024]), ("worker_pairs", 1)):
            text = re.sub(rf"(?m)^{key} = .*$", f"{key} = {value}", text)
        path.write_text(text, encoding="utf-8")

    def _git(self, *words: str) -> str:
        command = ["git", "-C", str(self.root), *words]
        return subprocess.run(
            command, env=dict(self._place.env), check=True, capture_output=True, text=True
        ).stdout.strip()


def measure(part: Part, place: Place, *, is_quick: bool) -> tuple[dict[str, Any], Path]:
    """The figures of one part, and its ledger."""
    count = _QUICK[part.name] if is_quick else part.count
    tiled = (ROOT / TILED).read_text(encoding="utf-8")
    total = GAIN**count
    run = Run(place, part, with_spare_work(tiled, total) if part.name == "gains" else None, is_quick=is_quick)
    answers: list[list[dict[str, Any]]] = []
    for number in range(1, count + 1):
        if part.name == "no-ops":
            text, hypothesis = (
                add_question(run.read(), number),
                f"no-op {number}: a question that is never answered yes",
            )
        else:
            text = add_question(with_spare_work(tiled, total / GAIN), number)
            hypothesis = f"gain {number}: {total / GAIN:.3f} times the work instead of {total:.3f}"
        answers.append(run.evaluate(text, hypothesis))
        last = answers[-1][-1]
        if part.name == "gains" and last["status"] == "keep":
            total /= GAIN
        _say(f"{part.name} {number} of {count}: {last['status']} ({last['rule']}) after {last['wall_s']:.0f} s")
    return _figures(part, run, answers), run.root / "research/ledger.jsonl"


def _figures(part: Part, run: Run, answers: Sequence[Sequence[dict[str, Any]]]) -> dict[str, Any]:
    final = [of_one[-1] for of_one in answers]
    kept = sum(answer["status"] == "keep" for answer in final)
    seconds = {
        status: [round(a["wall_s"], 1) for of_one in answers for a in of_one if a["status"] == status]
        for status in ("discard", "keep", "noisy")
    }
    calibration = run.status().get("calibration") or {}
    audit = run.audit()
    return {
        "part": part.name,
        "evaluated": len(final),
        "kept": kept,
        "bound": part.bound,
        "is_good": part.is_good(kept, len(final)),
        "rules": dict(Counter(answer["rule"] for answer in final)),
        "noisy_first": sum(len(of_one) > 1 for of_one in answers),
        "kept_by_the_seed_rule_alone": _seed_keeps(run.root / "research/ledger.jsonl"),
        "seconds": seconds,
        "calibration": {key: calibration.get(key) for key in ("runs", "sigma", "sd_m", "se_floor", "rates")},
        "audit": {"ok": audit["ok"], "rows": audit["rows"], "findings": len(audit["findings"])},
    }


def _seed_keeps(ledger: Path) -> int:
    rows = [json.loads(line) for line in ledger.read_text(encoding="utf-8").splitlines()]
    return sum((row.get("judge") or {}).get("status") == "keep" for row in rows)


def _say(text: str) -> None:
    print(f"{datetime.now(UTC):%H:%M:%S} {text}", file=sys.stderr, flush=True)


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Real no-ops and real gains, evaluated.")
    parser.add_argument("--only", choices=[part.name for part in PARTS], help="one part alone")
    parser.add_argument("--quick", action="store_true", help="few, at small terms; no bound is judged, nothing written")
    options = parser.parse_args(words)
    start, commit, machine = time.monotonic(), commit_id(), describe_machine()
    found = []
    with tempfile.TemporaryDirectory(prefix="mjolnir-verdicts-") as folder:
        for part in PARTS:
            if options.only in (None, part.name):
                figures, ledger = measure(part, Place(folder=Path(folder)), is_quick=options.quick)
                found.append(figures)
                print(
                    f"{part.name}: {figures['kept']} of {figures['evaluated']} kept ({part.bound}); {figures['rules']}"
                )
                if not options.quick:
                    _write(part, figures, ledger, commit, machine)
    print(f"took {time.monotonic() - start:.0f} s", file=sys.stderr)
    return 0 if options.quick or all(figures["is_good"] for figures in found) else 1


def _write(part: Part, figures: dict[str, Any], ledger: Path, commit: str, machine: dict[str, Any]) -> None:
    FOLDER.mkdir(exist_ok=True)
    shutil.copyfile(ledger, FOLDER / f"{part.name}.jsonl")
    about = {"schema": SCHEMA, "commit": commit, "utc": datetime.now(UTC).isoformat(timespec="seconds")}
    text = json.dumps({**about, "machine": machine, **figures}, indent=1)
    (FOLDER / f"{part.name}.json").write_text(f"{text}\n", encoding="utf-8")


if __name__ == "__main__":
    raise SystemExit(main())
