"""A run document for people: what was checked, what was timed. Everything in it is shown as data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.text import Text

from mjolnir.core.lengths import length_label
from mjolnir.core.per_length import positive_number
from mjolnir.render.number import DASH, times_text, us_text, when_text
from mjolnir.render.text import one_line

MAX_FAILURES = 12
"""Failed cases that are shown one by one."""
_LIMIT = 200


def document_text(document: Mapping[str, Any]) -> Text:
    """The document as lines: a table of cases by family, or of times by L."""
    lines = list(_case_lines(document.get("cases") or ()))
    lines += _time_lines(document.get("series") or ())
    summary = document.get("summary") or {}
    if "outcome" in summary:
        lines.append(f"outcome: {one_line(str(summary['outcome']), _LIMIT)}")
    if note := summary.get("note"):
        lines.append(one_line(str(note), _LIMIT))
    return Text("\n".join(lines))


def document_head(document: Mapping[str, Any]) -> Text:
    """One line that says which document this is."""
    params = document.get("params") or {}
    where = " ".join(one_line(str(params[key]), _LIMIT) for key in ("kernel", "origin", "target") if key in params)
    stage, run_id = one_line(str(document.get("stage")), 40), one_line(str(document.get("run_id")), 60)
    return Text(f"{stage} {run_id}  {when_text(str(document.get('ts') or ''))}  {where}".rstrip())


def _case_lines(cases: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """One line a family, then the failures."""
    if not cases:
        return
    yield f"{'family':<16} {'passed':>9} {'worst error':>12} {'limit':>8}"
    for family in dict.fromkeys(str(case.get("family")) for case in cases):
        of_family = [case for case in cases if str(case.get("family")) == family]
        passed = sum(bool(case.get("passed")) for case in of_family)
        unsupported = sum(bool(case.get("unsupported")) for case in of_family)
        note = f"  {unsupported} unsupported" if unsupported else ""
        worst = max(of_family, key=lambda case: _number(case.get("error")))
        yield (
            f"{one_line(family, 16):<16} {f'{passed}/{len(of_family)}':>9} {_error(worst.get('error')):>12} "
            f"{_error(worst.get('limit')):>8}{note}"
        )
    failed = [case for case in cases if not case.get("passed")]
    for case in failed[:MAX_FAILURES]:
        detail = one_line(str(case.get("detail") or ""), _LIMIT)
        yield f"FAILED {one_line(str(case.get('case')), 80)}: error {_error(case.get('error'))}  {detail}".rstrip()
    if len(failed) > MAX_FAILURES:
        yield f"... and {len(failed) - MAX_FAILURES} more failed cases"


def _time_lines(series: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Reference and kernel at each L."""
    times = {str(s.get("role")): _points(s) for s in series}
    reference, candidate = times.get("reference", {}), times.get("candidate", {})
    lengths = sorted(reference.keys() | candidate.keys())
    if not lengths:
        return
    yield f"{'L':>6} {'reference us':>13} {'kernel us':>12} {'speedup':>9}"
    for tokens in lengths:
        ours, theirs = candidate.get(tokens), reference.get(tokens)
        ratio = theirs / ours if ours and theirs else None
        yield f"{length_label(tokens):>6} {us_text(theirs):>13} {us_text(ours):>12} {times_text(ratio):>9}"


def _points(series: Mapping[str, Any]) -> dict[int, float]:
    """Times in microseconds by L in tokens; a point without a usable time is left out."""
    found = {}
    for point in series.get("points") or ():
        time_us = positive_number(point.get("total_us"))
        if isinstance(point.get("L"), int) and time_us is not None:
            found[point["L"]] = time_us
    return found


def _number(value: Any) -> float:
    return positive_number(value) or 0.0


def _error(value: Any) -> str:
    number = positive_number(value)
    return DASH if number is None else f"{number:.2g}"
