"""Whole-process CPU time and peak memory of four commands, ours and the peer's, in turn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from checkout import OUR_COMMAND, Place, make_our_checkout, make_peer_checkout
from child_cost import Cost, run_child
from counts import Counts
from figure import Figure
from peer import PEER_COMMAND

Say = Callable[[str], None]
MEMORY_BOUND = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One command. `ours_shows` and `peer_shows` have to be in what it prints ({rows} is filled in); `writes` is a file
    that a run has to make anew, relative to the checkout."""

    name: str
    words: Sequence[str]
    cpu_bound: float
    ours_shows: str
    peer_shows: str
    writes: Sequence[str] = ()
    needs_ledger: bool = True


CHARTS = ("research/progress.png", "research/progress-dark.png")
CASES = (
    Case(
        name="help",
        words=["--help"],
        cpu_bound=0.65,
        ours_shows="autoresearch",
        peer_shows="autoresearch",
        needs_ledger=False,
    ),
    Case(
        name="status",
        words=["autoresearch", "status"],
        cpu_bound=0.55,
        ours_shows="{rows:,}",
        peer_shows="{rows} experiments",
    ),
    Case(
        name="ledger",
        words=["autoresearch", "ledger", "--tail", "20"],
        cpu_bound=0.55,
        ours_shows="{rows}",
        peer_shows="{rows}",
    ),
    Case(
        name="chart",
        words=["autoresearch", "chart"],
        cpu_bound=0.10,
        ours_shows="progress",
        peer_shows="progress",
        writes=CHARTS,
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Leg:
    """One of the two tools: its command, its checkout, what its output has to hold."""

    command: Path
    root: Path
    shows: str

    def run(self, case: Case, place: Place) -> Cost:
        """One measured call. Raises RuntimeError where the command did not do the work."""
        for name in case.writes:
            (self.root / name).unlink(missing_ok=True)
        cost = run_child([self.command, *case.words], cwd=self.root, env=place.env)
        if self.shows not in cost.out:
            raise RuntimeError(f"{self.command.name} {' '.join(case.words)} does not show {self.shows!r}:\n{cost.out}")
        for name in case.writes:
            if not (self.root / name).is_file():
                raise RuntimeError(f"{self.command.name} {' '.join(case.words)} made no {name}:\n{cost.out}")
        return cost


def measure(names: Sequence[str], counts: Counts, place: Place, say: Say) -> list[Figure]:
    """CPU time and peak memory of the cases called `names`."""
    say(f"two checkouts with {counts.rows:,} rows")
    ours = make_our_checkout(place, "ours", counts.rows)
    peer = make_peer_checkout(place, "peer", counts.rows)
    figures = []
    for case in CASES:
        if case.name in names:
            legs = (
                Leg(command=OUR_COMMAND, root=ours, shows=case.ours_shows.format(rows=counts.rows)),
                Leg(command=PEER_COMMAND, root=peer, shows=case.peer_shows.format(rows=counts.rows)),
            )
            figures += _figures(case, *interleave(case, legs, counts.rounds, place, say), counts)
    return figures


def interleave(case: Case, legs: tuple[Leg, Leg], rounds: int, place: Place, say: Say) -> tuple[list[Cost], list[Cost]]:
    """The costs of both legs by round. A first round is thrown away (it fills caches); who goes first alternates."""
    costs: tuple[list[Cost], list[Cost]] = ([], [])
    for number in range(rounds + 1):
        for which in (0, 1) if number % 2 else (1, 0):
            cost = legs[which].run(case, place)
            if number:
                costs[which].append(cost)
        say(f"{' '.join(case.words)}: round {number} of {rounds}")
    return costs


def _figures(case: Case, ours: list[Cost], peer: list[Cost], counts: Counts) -> list[Figure]:
    what = " ".join(case.words) + (f", {counts.rows:,} rows" if case.needs_ledger else "")
    mib = 2.0**20
    return [
        Figure(
            name=f"{what}: CPU",
            unit="s",
            ours=[c.cpu_s for c in ours],
            peer=[c.cpu_s for c in peer],
            is_ratio=True,
            bound=case.cpu_bound,
        ),
        Figure(
            name=f"{what}: peak memory",
            unit="MiB",
            ours=[c.peak_bytes / mib for c in ours],
            peer=[c.peak_bytes / mib for c in peer],
            is_ratio=True,
            bound=MEMORY_BOUND,
        ),
    ]
