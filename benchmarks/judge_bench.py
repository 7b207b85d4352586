"""`make bench-judge`: what each keep rule is worth, on made-up measurements with the noise of a real device.

    python benchmarks/judge_bench.py            all figures, and benchmarks/judge.json
    python benchmarks/judge_bench.py --quick    small counts: shows that the code runs, judges nothing

Seeds are fixed, so the same code gives the same figures. Exits with 1 where the rule `confirmed` misses a bound at the
default noise.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from judge_model import DEFAULT, LEVELS, RULES
from judge_trials import FULL, QUICK, Counts, Estimate, Trials
from machine import commit_id

SCHEMA = "mjolnir.judge-bench/1"
SEED = 20260
JUDGED_RULE = "confirmed"
RESULTS = Path(__file__).resolve().parent / "judge.json"
Found = Mapping[tuple[str, str], Mapping[str, Estimate]]
"""{(rule, noise): {figure: estimate}}."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """`bound`: what `confirmed` has to keep at the default noise; None: shown only."""

    name: str
    unit: str = "%"
    bound: float | None = None
    at_least: bool = False

    def holds(self, value: float) -> bool:
        if self.bound is None:
            return True
        return value >= self.bound if self.at_least else value <= self.bound

    @property
    def bound_text(self) -> str:
        return "" if self.bound is None else f"{'>=' if self.at_least else '<='} {self.bound:g}"


FIGURES = {
    "no_op": Figure(name="a no-op is kept", bound=0.1),
    "no_op_twice": Figure(name="a no-op, measured twice, is kept", bound=0.15),
    "gain_1": Figure(name="a true +1 % is kept"),
    "gain_2": Figure(name="a true +2 % is kept"),
    "gain_3": Figure(name="a true +3 % is kept", bound=93.0, at_least=True),
    "gain_5": Figure(name="a true +5 % is kept", bound=97.5, at_least=True),
    "best_early": Figure(name="recorded best too high after 100 no-ops"),
    "best_late": Figure(name="recorded best too high after 500 no-ops", bound=0.5),
    "power_lost": Figure(name="a true +3 % after 200 no-ops: kept less often by", unit="points", bound=2.0),
    "harmful": Figure(name="-0.5 to -8 % is kept (per 100 ideas)", bound=0.01),
    "leg_sweeps": Figure(name="leg-sweeps a no-op", unit="sweeps", bound=2.5),
    "noisy": Figure(name="noisy where both legs shift by +-15 %", bound=0.2),
    "gain_3_next": Figure(name="a true +3 % is kept on a champion that was kept"),
    "gain_3_levelled": Figure(name="the same, reference brought to the rounds' level"),
}


def main(words: Sequence[str] | None = None) -> int:
    options = _options(words)
    start = time.monotonic()
    counts = QUICK if options.quick else FULL
    found = measure(counts)
    head = f"commit {commit_id()}, numpy {np.__version__}, seed {SEED}; [95 % interval]"
    print(f"{head}\n\n{table(found, is_quick=options.quick)}\n")
    path = options.out or (None if options.quick else RESULTS)
    if path is not None:
        path.write_text(json.dumps(results(found, counts), indent=1) + "\n", encoding="utf-8")
        print(f"results: {path.name}")
    print(f"took {time.monotonic() - start:.0f} s", file=sys.stderr)
    return verdict(found, is_quick=options.quick)


def _options(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="What each keep rule is worth, in simulation.")
    parser.add_argument("--quick", action="store_true", help="small counts; no bound is judged, no results are written")
    parser.add_argument("--out", type=Path, help="results file (default: benchmarks/judge.json, full counts only)")
    return parser.parse_args(words)


def measure(counts: Counts) -> dict[tuple[str, str], dict[str, Estimate]]:
    """Every figure of every rule at every noise."""
    found = {}
    for number, noise in enumerate(LEVELS):
        for name, rule in RULES.items():
            trials = Trials(rule=rule, noise=noise, counts=counts, seed=SEED + number)
            found[name, noise.name] = trials.figures()
            print(f"done: {name} at {noise.name} noise", file=sys.stderr, flush=True)
    return found


def missed(found: Found) -> list[str]:
    """The names of the figures whose bound the judged rule misses at the default noise."""
    judged = found[JUDGED_RULE, DEFAULT.name]
    return [figure.name for key, figure in FIGURES.items() if not figure.holds(judged[key].value)]


def verdict(found: Found, *, is_quick: bool) -> int:
    """Say it, and the exit code."""
    if is_quick:
        print("small counts: no bound was judged")
        return 0
    names = missed(found)
    bounds = sum(figure.bound is not None for figure in FIGURES.values())
    print(f"{bounds} bounds, {len(names)} missed" + "".join(f"\n  missed: {name}" for name in names))
    return 1 if names else 0


def table(found: Found, *, is_quick: bool = False) -> str:
    """Two lines a figure, one a rule; a column a noise. Small counts judge nothing."""
    levels = [noise.name for noise in LEVELS]
    rows = [["figure", "rule", *levels, "unit", "bound", "ok"]]
    for key, figure in FIGURES.items():
        for rule in RULES:
            cells = [_cell(found[rule, level][key]) for level in levels]
            is_judged = rule == JUDGED_RULE and figure.bound is not None
            ok = "" if is_quick else "yes" if figure.holds(found[rule, DEFAULT.name][key].value) else "NO"
            name = figure.name if rule == next(iter(RULES)) else ""
            rows.append([name, rule, *cells, figure.unit, *((figure.bound_text, ok) if is_judged else ("", ""))])
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([lines[0], "  ".join("-" * width for width in widths), *lines[1:]])


def _cell(estimate: Estimate) -> str:
    digits = 3 if abs(estimate.high) < 0.1 else 2
    return f"{estimate.value:.{digits}f} [{estimate.low:.{digits}f}, {estimate.high:.{digits}f}]"


def results(found: Found, counts: Counts) -> dict[str, Any]:
    """What the results file holds. No date and no machine: neither changes a figure."""
    return {
        "schema": SCHEMA,
        "commit": commit_id(),
        "numpy": np.__version__,
        "seed": SEED,
        "counts": asdict(counts),
        "noise": [asdict(noise) for noise in LEVELS],
        "figures": [
            _figure_json(key, rule, level, estimate)
            for (rule, level), estimates in found.items()
            for key, estimate in estimates.items()
        ],
    }


def _figure_json(key: str, rule: str, level: str, estimate: Estimate) -> dict[str, Any]:
    figure = FIGURES[key]
    is_judged = rule == JUDGED_RULE and level == DEFAULT.name and figure.bound is not None
    numbers = {k: float(f"{v:.6g}") if isinstance(v, float) else v for k, v in asdict(estimate).items()}
    answer = {"key": key, "name": figure.name, "rule": rule, "noise": level, "unit": figure.unit, **numbers}
    if is_judged:
        answer |= {
            "bound": figure.bound,
            "bound_is": "at least" if figure.at_least else "at most",
            "ok": figure.holds(estimate.value),
        }
    return answer


if __name__ == "__main__":
    sys.exit(main())
