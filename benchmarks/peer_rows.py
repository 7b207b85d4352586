"""Run by the peer's Python: write or read a ledger with the peer's own functions.

PEER/python peer_rows.py write FOLDER COUNT      its append_ledger, row by row
PEER/python peer_rows.py read FOLDER             CPU seconds of one load_ledger, as JSON
PEER/python peer_rows.py append FOLDER TIMES     CPU seconds of each append_ledger, as JSON
"""

from __future__ import annotations

import json
import sys
import time
from itertools import islice
from pathlib import Path
from typing import Any

from mjolnir_cli.autoresearch import append_ledger, load_ledger
from sample_run import BRANCH, MIN_GAIN, Fact, make_facts


def peer_row(fact: Fact) -> dict[str, Any]:
    """The keys and the rounding of the peer's own evaluate."""
    best = fact.champion
    return {
        "id": fact.id,
        "ts": fact.ts,
        "branch": BRANCH,
        "commit": fact.commit[:7],
        "status": fact.status,
        "reason": fact.reason,
        "score": None if fact.score is None else round(fact.score, 4),
        "best_before": round(best.score, 4) if best is not None and best.score is not None else None,
        "min_gain": MIN_GAIN,
        "correctness": "pass" if fact.is_correct else "fail",
        "per_L": {k: round(v, 4) for k, v in fact.per_length.items()},
        "fi_us": {k: round(v, 2) for k, v in fact.reference_us.items()},
        "mj_us": {k: round(v, 2) for k, v in fact.candidate_us.items()},
        "agent": "autoresearch",
        "hypothesis": fact.hypothesis,
        "sources": fact.sources,
        "verify_runs": {"correctness": f"20251011-{fact.id:06d}-c", "sweep": f"20251011-{fact.id:06d}-s"},
        "vs_best": {k: round(v, 4) for k, v in fact.relative.items()},
    }


def write(folder: Path, count: int) -> None:
    for fact in make_facts(count):
        append_ledger(folder, peer_row(fact))


def read(folder: Path) -> float:
    start = time.process_time()
    load_ledger(folder)
    return time.process_time() - start


def append(folder: Path, times: int) -> list[float]:
    cpu_s = []
    for fact in islice(make_facts(times), times):
        row = peer_row(fact)
        start = time.process_time()
        append_ledger(folder, row)
        cpu_s.append(time.process_time() - start)
    return cpu_s


if __name__ == "__main__":
    what, place = sys.argv[1], Path(sys.argv[2])
    if what == "write":
        write(place, int(sys.argv[3]))
    else:
        print(json.dumps(read(place) if what == "read" else append(place, int(sys.argv[3]))))
