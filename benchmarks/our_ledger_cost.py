"""Run by this project's Python: CPU seconds of library calls on a checkout's ledger, as JSON.

python our_ledger_cost.py read CHECKOUT             opening it and every row with all its fields
python our_ledger_cost.py append CHECKOUT TIMES     each of TIMES appends after opening
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from bulk_ledger import common_dir_of, our_row
from sample_run import TAG, make_facts

from mjolnir.store.ledger import open_ledger


def read(root: Path) -> float:
    common_dir = common_dir_of(root)
    start = time.process_time()
    rows = open_ledger(root, common_dir, tag=TAG).rows()
    cpu_s = time.process_time() - start
    if not rows[-1].hash:
        raise RuntimeError("the rows that were read are not whole")
    return cpu_s


def append(root: Path, times: int) -> list[float]:
    ledger = open_ledger(root, common_dir_of(root), tag=TAG)
    cpu_s = []
    for fact in make_facts(times):
        row = our_row(fact, fact.commit)
        start = time.process_time()
        ledger.append(row)
        cpu_s.append(time.process_time() - start)
    return cpu_s


if __name__ == "__main__":
    what, place = sys.argv[1], Path(sys.argv[2]).resolve()
    print(json.dumps(read(place) if what == "read" else append(place, int(sys.argv[3]))))
