"""Run by this project's Python: one evaluation's visit to the cpu target, in a process of its own, as JSON.

python aa_visit.py [LENGTHS [WORKER_PAIRS]]      LENGTHS: 128,1024; both default to the target's own
"""

from __future__ import annotations

import json
import secrets
import sys
from dataclasses import asdict
from pathlib import Path

from mjolnir.config import CPU_KERNEL, parse_config
from mjolnir.core.model import Measured
from mjolnir.targets.protocol import CheckRequest, KernelSource, SweepRequest, TargetRequest, load_target


def visit(kernel: Path, lengths: str, worker_pairs: str) -> dict[str, object]:
    """The checked and timed kernel: {"reference_us", "candidate_us", "unsteady", "seconds", "gate", "device"}."""
    terms = (f"lengths=[{lengths}]\n" if lengths else "") + (f"worker_pairs={worker_pairs}\n" if worker_pairs else "")
    config = parse_config(f"[targets.cpu]\n{terms}", where="the benchmark")
    target = load_target("cpu", config)
    target.preflight()
    report = target.visit(
        KernelSource(blob=kernel.read_bytes(), name=kernel.name, origin="work tree"),
        TargetRequest(
            seed=secrets.randbits(63),
            check=CheckRequest(),
            sweep=SweepRequest(lengths=config.targets["cpu"].lengths),
            time_limit_s=config.targets["cpu"].time_limit_s,
        ),
        lambda progress: None,
    )
    if not isinstance(report.outcome, Measured):
        raise SystemExit(f"the starting kernel was not measured: {report.outcome}")
    measurements = [asdict(m) for m in report.outcome.sweep.measurements]
    return {
        "reference_us": {str(m["length_tokens"]): m["reference_us"] for m in measurements},
        "candidate_us": {str(m["length_tokens"]): m["candidate_us"] for m in measurements},
        "unsteady": report.outcome.unsteady,
        "seconds": report.seconds,
        "gate": report.gate,
        "device": target.fingerprint(),
    }


if __name__ == "__main__":
    here = Path(__file__).resolve().parent
    given = [*sys.argv[1:], "", ""]
    print(json.dumps(visit(here.parent / CPU_KERNEL, given[0], given[1])))
