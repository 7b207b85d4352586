"""`make bench-verdicts`: are real verdicts to be believed? Whole evaluations on this machine's CPU, nothing simulated.

    python benchmarks/verdicts.py                 60 no-ops and 20 changes worth +10 %; more than an hour
    python benchmarks/verdicts.py --only no-ops   one part: no-ops or gains (40 minutes each)
    python benchmarks/verdicts.py --quick         3 and 2 at small terms: shows that the code runs, judges nothing
    python benchmarks/verdicts.py --folder DIR    works in DIR and leaves it; started again, it goes on where it ended

no-ops  each evaluates the starting kernel with one more question that is never answered with yes: another program to
        the tool, the same work to the machine. None may be kept.
gains   the starting kernel does work that it does not need, and each change removes so much of it that the whole takes
        1/1.1 of its time: four runs of five. At least 18 of 20 must be kept. A change that is missed is not tried
        again: the next one has the same champion, is worth the same, and counts as the next.

A keep may cost at most 3.5 times what it would have cost as a discard (the median over the keeps of a part). An
evaluation that is noisy decides nothing and is measured again, once. Writes verdicts/<run>.jsonl, a ledger each, and
verdicts/<part>.json with the commit and the figures, all read from the ledgers. Give it a quiet machine.
"""

from __future__ import annotations

import argparse
import contextlib
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
from statistics import median
from typing import Any

from checkout import HERE, OUR_COMMAND, Place
from child_cost import run_child
from evaluate_cost import KERNEL, add_question
from machine import ROOT, commit_id, describe_machine
from spare_work import with_spare_work

SCHEMA = "mjolnir.verdicts/1"
TAG = "bench"
LEDGER = "research/ledger.jsonl"
GAIN = 1.1
MOST_KEEP_OVER_DISCARD = 3.5
"""A keep's time over its own without the confirmation, which is what it would have cost as a discard: the median."""
FOLDER = HERE / "verdicts"


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """`runs` times `count` evaluations; `is_good` of how many were kept; `bound` in words."""

    name: str
    count: int
    runs: int = 1
    bound: str
    is_good: Callable[[int, int], bool]


PARTS = (
    Part(name="no-ops", count=60, bound="0 of 60 kept", is_good=lambda kept, count: kept == 0),
    Part(
        name="gains",
        count=5,
        runs=4,
        bound="at least 18 of 20 kept",
        is_good=lambda kept, count: kept * 20 >= 18 * count,
    ),
)
_QUICK = {"no-ops": 3, "gains": 2}  # of one run


class Run:
    """One run of the tool in a scratch repository."""

    def __init__(self, place: Place, name: str, text: str | None, *, is_quick: bool) -> None:
        self._place = place
        self.root = place.folder / name
        if (self.root / LEDGER).exists():
            self._git("reset", "-q", "--hard", self.champion())
            return
        shutil.rmtree(self.root, ignore_errors=True)
        run_child([OUR_COMMAND, "new", self.root, "--target", "cpu"], cwd=place.folder, env=place.env)
        if text is not None:
            (self.root / KERNEL).write_text(text, encoding="utf-8")
        if is_quick:
            self._use_small_terms()
        self._git("commit", "-q", "--allow-empty", "-a", "-m", "the starting kernel of this part")
        cost = run_child([OUR_COMMAND, "autoresearch", "init", TAG], cwd=self.root, env=place.env)
        _say(f"{name}: init with baseline and calibration took {cost.wall_s:.0f} s")

    def rows(self) -> list[dict[str, Any]]:
        """The ledger's rows."""
        return [json.loads(line) for line in (self.root / LEDGER).read_text(encoding="utf-8").splitlines()]

    def ideas(self) -> list[list[dict[str, Any]]]:
        """The rows of each idea that is settled: decided, or noisy twice."""
        by_idea: dict[str, list[dict[str, Any]]] = {}
        for row in self.rows()[1:]:
            by_idea.setdefault(row["hypothesis"], []).append(row)
        return [rows for rows in by_idea.values() if rows[-1]["status"] != "noisy" or len(rows) > 1]

    def champion(self) -> str:
        """The commit that changes build on."""
        kept = [row for row in self.rows() if row["status"] in ("baseline", "keep")]
        return str(kept[-1]["commit_full"])

    def evaluate(self, text: str, hypothesis: str) -> dict[str, Any]:
        """The last answer: of the second try where the first was noisy. Afterwards HEAD is the champion's commit."""
        (self.root / KERNEL).write_text(text, encoding="utf-8")
        self._git("commit", "-q", "-a", "-m", hypothesis)
        answer: dict[str, Any] = {}
        for _ in range(2):
            words = ["autoresearch", "evaluate", "-m", hypothesis, "--json"]
            answer = json.loads(run_child([OUR_COMMAND, *words], cwd=self.root, env=self._place.env).out)
            if answer["status"] != "noisy":
                break
        self._git("reset", "-q", "--hard", self.champion())
        return answer

    def ask(self, command: str) -> dict[str, Any]:
        """What a reading command answers as JSON."""
        words: list[str | Path] = [OUR_COMMAND, "autoresearch", command, "--json"]
        found: dict[str, Any] = json.loads(run_child(words, cwd=self.root, env=self._place.env).out)
        return found

    def _use_small_terms(self) -> None:
        path = self.root / "mjolnir.toml"
        text = path.read_text(encoding="utf-8")
        for key, value in (("lengths", [128, 1024]), ("worker_pairs", 1)):
            text = re.sub(rf"(?m)^{key} = .*$", f"{key} = {value}", text)
        path.write_text(text, encoding="utf-8")

    def _git(self, *words: str) -> None:
        subprocess.run(["git", "-C", str(self.root), *words], env=dict(self._place.env), check=True)


def measure(part: Part, place: Place, *, is_quick: bool) -> tuple[dict[str, Any], list[Path]]:
    """The figures of one part, and the ledgers of its runs."""
    names = [part.name] if is_quick or part.runs == 1 else [f"{part.name}-{n}" for n in range(1, part.runs + 1)]
    runs = [_measure_run(part, name, place, is_quick=is_quick) for name in names]
    return figures(part, runs), [run.root / LEDGER for run in runs]


def _measure_run(part: Part, name: str, place: Place, *, is_quick: bool) -> Run:
    count = _QUICK[part.name] if is_quick else part.count
    start = (ROOT / KERNEL).read_text(encoding="utf-8")
    most = GAIN**count
    run = Run(place, name, with_spare_work(start, most) if part.name == "gains" else None, is_quick=is_quick)
    while (number := len(run.ideas()) + 1) <= count:
        if part.name == "no-ops":
            text, hypothesis = (
                add_question((run.root / KERNEL).read_text(encoding="utf-8"), number),
                f"no-op {number}: a question never answered with yes",
            )
        else:
            total = most / GAIN ** sum(row["status"] == "keep" for row in run.rows())
            text = add_question(with_spare_work(start, total / GAIN), number)
            hypothesis = f"gain {number}: {total / GAIN:.3f} times the work instead of {total:.3f}"
        answer = run.evaluate(text, hypothesis)
        total_s = answer["seconds"]["total"]
        _say(f"{name} {number} of {count}: {answer['status']} ({answer['rule']}), {total_s:.0f} s")
    return run


def figures(part: Part, runs: Sequence[Run]) -> dict[str, Any]:
    """What came of a part; every figure is read from its ledgers."""
    rows, ideas = [row for run in runs for row in run.rows()], [idea for run in runs for idea in run.ideas()]
    kept = sum(of_one[-1]["status"] == "keep" for of_one in ideas)
    totals = {
        status: [row["seconds"]["total"] for row in rows if row["status"] == status]
        for status in ("discard", "keep", "noisy")
    }
    costs = [s["total"] / (s["total"] - s["confirm"]) for s in (r["seconds"] for r in rows if r["status"] == "keep")]
    noise = [run.ask("status").get("calibration") or {} for run in runs]
    audits = [run.ask("audit") for run in runs]
    return {
        "part": part.name,
        "evaluated": len(ideas),
        "kept": kept,
        "bound": part.bound,
        "is_good": part.is_good(kept, len(ideas)) and (not costs or median(costs) <= MOST_KEEP_OVER_DISCARD),
        "rules": dict(Counter(of_one[-1]["rule"] for of_one in ideas)),
        "noisy_at_first": sum(len(of_one) > 1 for of_one in ideas),
        "kept_by_the_seed_rule_alone": sum((row.get("judge") or {}).get("status") == "keep" for row in rows),
        "seconds": totals,
        "keep_over_discard": [round(cost, 3) for cost in costs],
        "keep_over_discard_bound": MOST_KEEP_OVER_DISCARD,
        "calibrations": [
            {k: of_run.get(k) for k in ("runs", "sigma", "sd_m", "se_floor", "rates")} for of_run in noise
        ],
        "audits": [{"ok": a["ok"], "rows": a["rows"], "findings": len(a["findings"])} for a in audits],
    }


def _say(text: str) -> None:
    print(f"{datetime.now(UTC):%H:%M:%S} {text}", file=sys.stderr, flush=True)


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Real no-ops and real gains, evaluated.")
    parser.add_argument("--only", choices=[part.name for part in PARTS], help="one part alone")
    parser.add_argument("--quick", action="store_true", help="few, at small terms; no bound is judged, nothing written")
    parser.add_argument("--folder", type=Path, help="work here, and go on with what is here")
    options = parser.parse_args(words)
    start, commit, machine = time.monotonic(), commit_id(), describe_machine()
    found = []
    with contextlib.ExitStack() as stack:
        folder = options.folder or stack.enter_context(tempfile.TemporaryDirectory(prefix="mjolnir-verdicts-"))
        Path(folder).mkdir(parents=True, exist_ok=True)
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
    return 0 if options.quick or all(of_part["is_good"] for of_part in found) else 1


def _write(part: Part, of_part: dict[str, Any], ledgers: Sequence[Path], commit: str, machine: dict[str, Any]) -> None:
    FOLDER.mkdir(exist_ok=True)
    for ledger in ledgers:
        shutil.copyfile(ledger, FOLDER / f"{ledger.parents[1].name}.jsonl")
    about = {"schema": SCHEMA, "commit": commit, "utc": datetime.now(UTC).isoformat(timespec="seconds")}
    text = json.dumps({**about, "machine": machine, **of_part}, indent=1)
    (FOLDER / f"{part.name}.json").write_text(f"{text}\n", encoding="utf-8")


if __name__ == "__main__":
    raise SystemExit(main())
