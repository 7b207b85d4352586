"""How long one `evaluate` of a kernel that is no better takes, and how much of that time is measuring."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from checkout import OUR_COMMAND, Place
from child_cost import Cost, run_child
from counts import Counts
from figure import Figure
from sample_run import TAG

Say = Callable[[str], None]
WALL_BOUND_S = 60.0
MEASURING_BOUND = 1 / 3
KERNEL = "src/mjolnir_kernel/cpu_decode.py"
_WRITING = "    out[...] = "
"""Where the starting kernel writes its result."""
_SPARE = 3
"""How many evaluations that came out noisy are replaced by another one."""


def measure(counts: Counts, place: Place, say: Say) -> list[Figure]:
    """`counts.evaluations` evaluations that are discarded, each of a new program that does what the champion does."""
    root = _start_run(counts, place, say)
    walls_s: list[float] = []
    answers: list[dict[str, Any]] = []
    others: list[str] = []
    for number in range(1, counts.evaluations + _SPARE + 1):
        cost, answer = _evaluate(root, number, place)
        say(f"evaluate {number}: {answer['status']} after {cost.wall_s:.1f} s")
        if answer["status"] == "discard":
            walls_s.append(cost.wall_s)
            answers.append(answer)
        else:
            others.append(f"{answer['status']}: {answer['reason']}")
        if answer["status"] != "keep":  # a no-op that was kept by luck is the champion to build on
            _git(root, place, "reset", "-q", "--hard", "HEAD~1")
        if len(walls_s) == counts.evaluations:
            break
    if not walls_s:
        raise RuntimeError(f"no evaluation was discarded: {'; '.join(others)}")
    return _figures(walls_s, answers, others)


def _start_run(counts: Counts, place: Place, say: Say) -> Path:
    """A research repository whose run has its baseline."""
    root = place.folder / "evaluate"
    run_child([OUR_COMMAND, "new", root, "--target", "cpu"], cwd=place.folder, env=place.env)
    if counts.lengths is not None:
        _use_small_terms(root, place, counts)
    cost = run_child([OUR_COMMAND, "autoresearch", "init", TAG, "--no-calibrate"], cwd=root, env=place.env)
    say(f"init with its baseline took {cost.wall_s:.1f} s")
    return root


def _use_small_terms(root: Path, place: Place, counts: Counts) -> None:
    path = root / "mjolnir.toml"
    text = path.read_text(encoding="utf-8")
    for key, value in (("lengths", list(counts.lengths or ())), ("worker_pairs", counts.worker_pairs)):
        text = re.sub(rf"(?m)^{key} = .*$", f"{key} = {value}", text)
    path.write_text(text, encoding="utf-8")
    _git(root, place, "commit", "-q", "-a", "-m", "small terms")


def _evaluate(root: Path, number: int, place: Place) -> tuple[Cost, dict[str, Any]]:
    kernel = root / KERNEL
    kernel.write_text(add_question(kernel.read_text(encoding="utf-8"), number), encoding="utf-8")
    _git(root, place, "commit", "-q", "-a", "-m", f"revision {number}")
    words = ["autoresearch", "evaluate", "-m", f"revision {number}: nothing that matters", "--json"]
    cost = run_child([OUR_COMMAND, *words], cwd=root, env=place.env)
    return cost, json.loads(cost.out)


def add_question(text: str, number: int) -> str:
    """A kernel's text with one more question, never answered with yes, before the result is written: another program to
    the tool (an unused name would not be), the same work to the machine."""
    head, writing, tail = text.rpartition(_WRITING)
    if not writing:
        raise RuntimeError(f"the kernel has no line that starts with {_WRITING!r} any more")
    question = f"    if q.ndim == {100 + number}:\n        raise ValueError\n"
    return f"{head}{question}{writing}{tail}"


def _figures(walls_s: list[float], answers: list[dict[str, Any]], others: list[str]) -> list[Figure]:
    shares = [answer["seconds"]["sweep"] / wall_s for answer, wall_s in zip(answers, walls_s, strict=True)]
    seconds = [answer["seconds"] for answer in answers]
    note = f"not counted, since they were no discard: {len(others)}" if others else ""
    return [
        Figure(
            name="evaluate on cpu, discarded: wall time",
            unit="s",
            ours=walls_s,
            bound=WALL_BOUND_S,
            note=note,
            raw={"seconds": seconds, "others": others},
        ),
        Figure(
            name="evaluate on cpu, discarded: share of it that is measuring",
            unit="",
            ours=shares,
            bound=MEASURING_BOUND,
            at_least=True,
            note="seconds.sweep of the row / wall time of the whole process",
        ),
    ]


def _git(root: Path, place: Place, *words: str) -> None:
    subprocess.run(["git", "-C", str(root), *words], env=dict(place.env), check=True)
