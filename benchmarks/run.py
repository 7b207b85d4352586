"""`make bench`: every figure of this project's speed, memory and noise, in one run, beside a named peer.

    python benchmarks/run.py                    everything; about half an hour on a quiet 2-core machine
    python benchmarks/run.py --only status      one part; may be given several times
    python benchmarks/run.py --quick            small counts: shows that the code runs, judges nothing

Exits with 1 where a bound is missed. This process imports nothing of what it measures: every call is a child's.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

import cli_cpu
import evaluate_cost
import ledger_scale
import noise
from checkout import HERE, Place
from counts import FULL, QUICK, Counts
from figure import Figure
from machine import commit_id, describe_machine, is_busy, slug
from peer import PEER_NAME, PEER_VERSION, ensure_peer
from report import head, table, write_results

_CLI = tuple(case.name for case in cli_cpu.CASES)
NAMES = (*_CLI, "scale", "evaluate", "noise")
_NEED_NO_PEER = {"evaluate", "noise"}


def main(words: list[str] | None = None) -> int:
    options = _options(words)
    names = options.only or list(NAMES)
    counts = QUICK if options.quick else FULL
    start = time.monotonic()
    machine, commit, peer = describe_machine(), commit_id(), f"{PEER_NAME} {PEER_VERSION} from PyPI"
    if is_busy():
        _say("warning: this machine is busy, so times and noise will look worse than they are")
    if set(names) - _NEED_NO_PEER:
        _say(f"the peer: {peer}, in benchmarks/.peer-venv")
        ensure_peer()
    with tempfile.TemporaryDirectory(prefix="mjolnir-bench-") as folder:
        figures = _measure(names, counts, Place(folder=Path(folder)))
    print(f"{head(machine, commit, peer)}\n\n{table(figures, is_judged=not options.quick)}\n")
    today = datetime.now(UTC)
    path = options.out or (
        None if options.quick or options.only else HERE / f"results-{today:%Y-%m-%d}-{slug(machine)}.json"
    )
    if path is not None:
        about = {
            "date": today.isoformat(timespec="seconds"),
            "commit": commit,
            "peer": peer,
            "machine": machine,
            "is_quick": options.quick,
            "took_s": round(time.monotonic() - start, 1),
        }
        write_results(path, figures, about)
        print(f"results: {path.name}")
    return verdict(figures, is_quick=options.quick)


def _options(words: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure this project's figures beside a named peer, in one run.")
    parser.add_argument("--only", action="append", choices=NAMES, metavar="NAME", help=f"one of: {', '.join(NAMES)}")
    parser.add_argument("--quick", action="store_true", help="small counts; no bound is judged")
    parser.add_argument(
        "--out", type=Path, help="results file (default: benchmarks/results-DATE-MACHINE.json, whole runs only)"
    )
    return parser.parse_args(words)


def _measure(names: list[str], counts: Counts, place: Place) -> list[Figure]:
    """The noise comes first: it needs the quietest machine, and what follows fills caches and disks."""
    figures: list[Figure] = []
    if "noise" in names:
        figures += noise.measure(counts, place, _say)
    if "evaluate" in names:
        figures += evaluate_cost.measure(counts, place, _say)
    if set(names) & set(_CLI):
        figures += cli_cpu.measure(names, counts, place, _say)
    if "scale" in names:
        figures += ledger_scale.measure(counts, place, _say)
    return figures


def verdict(figures: list[Figure], *, is_quick: bool) -> int:
    missed = [figure.name for figure in figures if not figure.ok]
    if is_quick:
        print(f"{len(figures)} figures at small counts: no bound was judged")
        return 0
    print(f"{len(figures)} figures, {len(missed)} bounds missed" + "".join(f"\n  missed: {name}" for name in missed))
    return 1 if missed else 0


def _say(words: str) -> None:
    print(words, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
