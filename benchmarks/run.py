"""`make bench`: every figure of this project's speed, memory and noise, in one run, beside a named peer.

    python benchmarks/run.py                    everything; about half an hour on a quiet 2-core machine
    python benchmarks/run.py --only status      one part; may be given several times
    python benchmarks/run.py --quick            small counts: shows that the code runs, judges nothing

Exits with 1 where a bound is missed or a part cannot be measured.
This process imports nothing of what it measures: every call is a child's.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import audit_cost
import cli_cpu
import evaluate_cost
import integrity_cost
import ledger_scale
import noise
from checkout import HERE, Place
from counts import FULL, QUICK, Counts
from figure import Figure
from machine import commit_id, describe_machine, is_busy, slug
from peer import PEER_NAME, PEER_VERSION, ensure_peer
from report import head, table, write_results

_CLI = tuple(case.name for case in cli_cpu.CASES)
NAMES = (*_CLI, "scale", "audit", "evaluate", "integrity", "noise")
_NEED_NO_PEER = {"audit", "evaluate", "integrity", "noise"}


def main(words: list[str] | None = None) -> int:
    options = _options(words)
    names = options.only or list(NAMES)
    start = time.monotonic()
    machine = describe_machine()
    commit, peer = commit_id(), f"{PEER_NAME} {PEER_VERSION} from PyPI"
    if is_busy():
        _say("warning: this machine is busy, so times and noise will look worse than they are")
    with tempfile.TemporaryDirectory(prefix="mjolnir-bench-") as folder:
        figures, broken = _measure(names, QUICK if options.quick else FULL, Place(folder=Path(folder)))
    print(f"{head(machine, commit, peer)}\n\n{table(figures, is_judged=not options.quick)}\n")
    today = datetime.now(UTC)
    is_whole = not (options.quick or options.only or broken)
    path = options.out or (HERE / f"results-{today:%Y-%m-%d}-{slug(machine)}.json" if is_whole else None)
    if path is not None:
        about = {
            "date": today.isoformat(timespec="seconds"),
            "commit": commit,
            "peer": peer,
            "machine": machine,
            "is_quick": options.quick,
            "took_s": round(time.monotonic() - start, 1),
            "broken": broken,
        }
        write_results(path, figures, about)
        print(f"results: {path.name}")
    return verdict(figures, broken, is_quick=options.quick)


def _options(words: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure this project's figures beside a named peer, in one run.")
    parser.add_argument("--only", action="append", choices=NAMES, metavar="NAME", help=f"one of: {', '.join(NAMES)}")
    parser.add_argument("--quick", action="store_true", help="small counts; no bound is judged")
    parser.add_argument(
        "--out", type=Path, help="results file (default: benchmarks/results-DATE-MACHINE.json, whole runs only)"
    )
    return parser.parse_args(words)


def _parts(names: list[str]) -> dict[str, Callable[[Counts, Place], list[Figure]]]:
    """What to measure, in order. Noise comes first: it needs the quietest machine, and the rest fills caches."""
    cases = [name for name in names if name in _CLI]
    parts: dict[str, Callable[[Counts, Place], list[Figure]]] = {}
    if "noise" in names:
        parts["noise"] = lambda counts, place: noise.measure(counts, place, _say)
    if "evaluate" in names:
        parts["evaluate"] = lambda counts, place: evaluate_cost.measure(counts, place, _say)
    if "integrity" in names:
        parts["integrity"] = lambda counts, place: integrity_cost.measure(counts, place, _say)
    if cases:
        parts[", ".join(cases)] = lambda counts, place: cli_cpu.measure(cases, counts, place, _say)
    if "scale" in names:
        parts["scale"] = lambda counts, place: ledger_scale.measure(counts, place, _say)
    if "audit" in names:
        parts["audit"] = lambda counts, place: audit_cost.measure(counts, place, _say)
    return parts


def _measure(names: list[str], counts: Counts, place: Place) -> tuple[list[Figure], list[str]]:
    """The figures, and what could not be measured: one part that breaks does not cost the others their half hour."""
    figures: list[Figure] = []
    broken: list[str] = []
    for part, measure in _parts(names).items():
        try:
            if part not in _NEED_NO_PEER:
                ensure_peer()
            figures += measure(counts, place)
        except RuntimeError as e:
            _say(f"error: {part}: {e}")
            broken.append(f"{part}: {e}")
    return figures, broken


def verdict(figures: list[Figure], broken: list[str], *, is_quick: bool) -> int:
    """The closing lines; 1 where a bound was missed or a part could not be measured, else 0."""
    missed = [] if is_quick else [figure.name for figure in figures if not figure.ok]
    judged = "no bound was judged at these small counts" if is_quick else f"{len(missed)} bounds missed"
    lines = [f"{len(figures)} figures, {judged}", *(f"  missed: {name}" for name in missed)]
    print("\n".join([*lines, *(f"  not measured: {text.splitlines()[0]}" for text in broken)]))
    return 1 if missed or broken else 0


def _say(words: str) -> None:
    print(words, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
