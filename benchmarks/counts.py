"""How much is measured: the counts that the figures name, and small ones that only show that the code runs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """`rows` and `many_rows` are the two sizes of a ledger, `few_rows` is what growth is measured from.

    `visits` of one kernel on the device for the A/A figure; `lengths` in tokens and `worker_pairs` are None where the
    target's own are taken.
    """

    rounds: int
    rows: int
    few_rows: int
    many_rows: int
    appends: int
    visits: int
    evaluations: int
    lengths: tuple[int, ...] | None = None
    worker_pairs: int | None = None


FULL = Counts(rounds=7, rows=10_000, few_rows=10, many_rows=100_000, appends=50, visits=20, evaluations=5)
QUICK = Counts(
    rounds=2,
    rows=60,
    few_rows=10,
    many_rows=120,
    appends=3,
    visits=2,
    evaluations=1,
    lengths=(128, 256),
    worker_pairs=1,
)
