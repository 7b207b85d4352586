"""Run by this project's Python: one visit to the cpu target, with the integrity protocol or without it, as JSON.

python bare_visit.py full|bare [LENGTHS [WORKER_PAIRS]]

"bare" is the same code with what a trusting harness would not do switched off, by replacing functions in this process:

- the check looks at the family gauss alone, at the same shapes
- all timed calls of an L have the same inputs; nothing is written between two calls, out is not poisoned
- no timed answer is compared with the oracle, and inputs are not looked at afterwards
- legs that are not under the clock are not stopped, and left processes are not searched for
"""

from __future__ import annotations

import json
import secrets
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from mjolnir.config import CPU_KERNEL, parse_config
from mjolnir.core.model import Measured
from mjolnir.targets import cpu, cpu_turns
from mjolnir.targets.cpu_timed_leg import TimedLeg
from mjolnir.targets.protocol import CheckRequest, KernelSource, SweepRequest, TargetRequest, load_target


def trust_the_kernel() -> None:
    """Switch the protocol off in this process."""
    drawn = cpu_turns.timed_inputs

    def one_input(workload: Any, length: int, num_calls: int, rng: np.random.Generator) -> Any:
        return same_inputs(drawn(workload, length, 1, rng), num_calls, rng)

    def same_inputs(timed: Any, num_calls: int, rng: np.random.Generator) -> Any:
        del rng
        names = ("q", "token_index", "page_ids", "slots", "tokens")
        arrays = {name: getattr(timed, name)[:1] for name in names}
        return replace(timed, **{name: np.broadcast_to(a, (num_calls, *a.shape[1:])) for name, a in arrays.items()})

    def prepare_nothing(leg: TimedLeg) -> None:
        leg.used += 1

    def only_resume(timing: object, leg: TimedLeg) -> None:
        del timing
        leg.leg.worker.resume()

    def find_nothing(*of_any: object, **named: object) -> None:
        del of_any, named

    for place, name, function in (
        (cpu_turns, "timed_inputs", one_input),
        (cpu_turns, "extend_timed", same_inputs),
        (cpu_turns, "verify_legs", find_nothing),
        (cpu_turns._Timing, "_give_core_to", only_resume),
        (TimedLeg, "_prepare", prepare_nothing),
        (cpu, "end_leftovers", find_nothing),
    ):
        assert hasattr(place, name), f"{place} has no {name} any more: this benchmark must follow the code"
        setattr(place, name, function)


def visit(kernel: Path, *, is_bare: bool, lengths: str, worker_pairs: str) -> dict[str, object]:
    """Seconds of the whole visit and by stage."""
    terms = (f"lengths=[{lengths}]\n" if lengths else "") + (f"worker_pairs={worker_pairs}\n" if worker_pairs else "")
    config = parse_config(f"[targets.cpu]\n{terms}", where="the benchmark")
    target = load_target("cpu", config)
    target.preflight()
    start_s = time.perf_counter()
    report = target.visit(
        KernelSource(blob=kernel.read_bytes(), name=kernel.name, origin="work tree"),
        TargetRequest(
            seed=secrets.randbits(53),
            check=CheckRequest(match="gauss" if is_bare else ""),
            sweep=SweepRequest(lengths=config.targets["cpu"].lengths),
            time_limit_s=config.targets["cpu"].time_limit_s,
        ),
        lambda progress: None,
    )
    total_s = time.perf_counter() - start_s
    if not isinstance(report.outcome, Measured):
        raise SystemExit(f"the starting kernel was not measured: {report.outcome}")
    return {"total_s": total_s, "seconds": report.seconds, "unsteady": report.outcome.unsteady}


if __name__ == "__main__":
    given = [*sys.argv[1:], "", "", ""]
    if given[0] == "bare":
        trust_the_kernel()
    path = Path(__file__).resolve().parent.parent / CPU_KERNEL
    print(json.dumps(visit(path, is_bare=given[0] == "bare", lengths=given[1], worker_pairs=given[2])))
