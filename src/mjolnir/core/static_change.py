"""What changed between two static reports: of every launch the machine code and its figures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mjolnir.core.static_facts import LaunchFacts, StaticReport, is_same_program, launch_key
from mjolnir.core.static_report import launch_json


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchChange:
    """One launch at `lengths`, before and after; None: it is on one side alone."""

    q_dtype: str
    lengths: tuple[int, ...]
    before: LaunchFacts | None
    after: LaunchFacts | None

    @property
    def is_same_code(self) -> bool:
        if self.before is None or self.after is None:
            return False
        return self.before.launch.code.sass_hash == self.after.launch.code.sass_hash


@dataclass(frozen=True, slots=True, kw_only=True)
class StaticChange:
    """How a report differs from that of another commit. `changes` holds every pair of launches, changed or not."""

    commit: str
    is_same_program: bool
    changes: tuple[LaunchChange, ...]


def compare_reports(before: StaticReport, after: StaticReport, commit: str) -> StaticChange:
    """Launches are paired by q dtype, L and their place in the call; `commit` is the one of `before`."""
    old_places, new_places = _places(before), _places(after)
    pairs: dict[tuple[str, int, int], list[int]] = {}
    for key in [*new_places, *old_places]:
        q_dtype, length, _ = key
        lengths = pairs.setdefault((q_dtype, old_places.get(key, -1), new_places.get(key, -1)), [])
        if length not in lengths:
            lengths.append(length)
    changes = [
        LaunchChange(
            q_dtype=q_dtype,
            lengths=tuple(sorted(lengths)),
            before=before.launches[old] if old >= 0 else None,
            after=after.launches[new] if new >= 0 else None,
        )
        for (q_dtype, old, new), lengths in pairs.items()
    ]
    return StaticChange(commit=commit, is_same_program=is_same_program(before, after), changes=tuple(changes))


def _places(report: StaticReport) -> dict[tuple[str, int, int], int]:
    """(q dtype, L, place in the call) -> index into report.launches."""
    numbers = {launch_key(facts.q_dtype, facts.launch): i for i, facts in enumerate(report.launches)}
    return {
        (call.q_dtype, call.length, place): numbers[launch_key(call.q_dtype, one)]
        for call in report.calls
        for place, one in enumerate(call.launches)
    }


def change_json(change: StaticChange) -> dict[str, Any]:
    """The key `against` of the answer."""
    keys = ("registers", "spills", "shared_bytes", "instructions_per_kv_row", "bytes_ratio", "ctas_per_sm")
    rows = []
    for one in change.changes:
        before, after = (None if f is None else launch_json(f) for f in (one.before, one.after))
        row: dict[str, Any] = {
            "kernel": (after or before or {})["kernel"],
            "q_dtype": one.q_dtype,
            "lengths": list(one.lengths),
            "is_same_code": one.is_same_code,
        }
        for key in keys:
            row[key] = {"before": before and before[key], "after": after and after[key]}
        rows.append(row)
    return {"commit": change.commit, "is_same_program": change.is_same_program, "launches": rows}
