"""What a long ledger costs: reading it whole, the growth of `status` and `ledger --tail`, one more row."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

from checkout import HERE, OUR_COMMAND, OUR_PYTHON, Place, make_our_checkout, make_peer_checkout
from child_cost import run_child
from counts import Counts
from figure import Figure
from peer import PEER_COMMAND, PEER_PYTHON

Say = Callable[[str], None]
READ_BOUND_S = 1.0
GROWTH_BOUND_S = 1.2
APPEND_BOUND_S = 0.020
_OURS, _PEER = "our_ledger_cost.py", "peer_rows.py"


def measure(counts: Counts, place: Place, say: Say) -> list[Figure]:
    """The four figures; the peer's own numbers for the same actions stand beside them."""
    say(f"ledgers with {counts.few_rows}, {counts.rows:,} and {counts.many_rows:,} rows")
    sizes = (counts.few_rows, counts.rows, counts.many_rows)
    ours = {rows: make_our_checkout(place, f"scale-ours-{rows}", rows) for rows in sizes}
    peer = {rows: make_peer_checkout(place, f"scale-peer-{rows}", rows) for rows in sizes}
    figures = [_read(ours[counts.rows], peer[counts.rows], counts, place, say)]
    for words in (["autoresearch", "status"], ["autoresearch", "ledger", "--tail", "20"]):
        figures.append(_growth(words, ours, peer, counts, place, say))
    figures.append(_append(ours[counts.many_rows], peer[counts.many_rows], counts, place, say))
    return figures


def _library_cpu_s(python: Path, script: str, words: Sequence[str | Path], place: Place) -> list[float]:
    """What a script that measures itself printed: seconds, one or many."""
    answer = json.loads(run_child([python, HERE / script, *words], cwd=place.folder, env=place.env).out)
    return answer if isinstance(answer, list) else [answer]


def _read(ours: Path, peer: Path, counts: Counts, place: Place, say: Say) -> Figure:
    samples: tuple[list[float], list[float]] = ([], [])
    for number in range(counts.rounds):
        samples[0].extend(_library_cpu_s(OUR_PYTHON, _OURS, ["read", ours], place))
        samples[1].extend(_library_cpu_s(PEER_PYTHON, _PEER, ["read", peer], place))
        say(f"reading {counts.rows:,} rows: round {number + 1} of {counts.rounds}")
    return Figure(
        name=f"read {counts.rows:,} rows, all fields: CPU",
        unit="s",
        ours=samples[0],
        peer=samples[1],
        bound=READ_BOUND_S,
        note="a library call in a fresh process, opening included",
    )


def _growth(
    words: Sequence[str], ours: dict[int, Path], peer: dict[int, Path], counts: Counts, place: Place, say: Say
) -> Figure:
    samples: dict[Path, list[float]] = {OUR_COMMAND: [], PEER_COMMAND: []}
    for number in range(counts.rounds + 1):
        for command, roots in ((OUR_COMMAND, ours), (PEER_COMMAND, peer)):
            costs = [
                run_child([command, *words], cwd=roots[rows], env=place.env).cpu_s
                for rows in (counts.few_rows, counts.many_rows)
            ]
            if number:
                samples[command].append(costs[1] - costs[0])
        say(f"{' '.join(words)} over {counts.many_rows:,} rows: round {number} of {counts.rounds}")
    return Figure(
        name=f"{' '.join(words)}: CPU over {counts.many_rows:,} rows, more than over {counts.few_rows}",
        unit="s",
        ours=samples[OUR_COMMAND],
        peer=samples[PEER_COMMAND],
        bound=GROWTH_BOUND_S,
    )


def _append(ours: Path, peer: Path, counts: Counts, place: Place, say: Say) -> Figure:
    say(f"{counts.rounds} times {counts.appends} appends to {counts.many_rows:,} rows")
    times = str(counts.appends)
    samples: tuple[list[float], list[float]] = ([], [])
    slowest = []
    for _ in range(counts.rounds):
        cpu_s = _library_cpu_s(OUR_PYTHON, _OURS, ["append", ours, times], place)
        samples[0].append(median(cpu_s))
        slowest.append(max(cpu_s))
        samples[1].append(median(_library_cpu_s(PEER_PYTHON, _PEER, ["append", peer, times], place)))
    return Figure(
        name=f"append to {counts.many_rows:,} rows: CPU",
        unit="s",
        ours=samples[0],
        peer=samples[1],
        bound=APPEND_BOUND_S,
        note=f"each sample the median of {counts.appends} appends in one process, after opening; "
        "the peer syncs nothing, keeps no copy and takes no lock",
        raw={"slowest_append_s": slowest},
    )
