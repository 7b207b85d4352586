"""What was tried before: earlier experiments, of this run or an exported one, with an idea close to this one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from mjolnir.core.plateau import gain_over_champion
from mjolnir.core.similarity import CLOSE, Essence, closeness, essence
from mjolnir.errors import Refused
from mjolnir.render.number import gain_text
from mjolnir.render.text import one_line
from mjolnir.store.codec import decode_row
from mjolnir.store.hypotheses import HypothesisGlance, read_hypotheses
from mjolnir.store.ledger_files import RESEARCH, live_ledger
from mjolnir.store.row_file import RowFile

RUNS = f"{RESEARCH}/runs"
MAX_FOUND = 5
_TEXT_LIMIT = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Earlier:
    """An earlier experiment. `run`: the tag of an exported run, None for this one; `gain` over the champion of its
    time, a ratio minus 1, None where it was not measured. The texts are foreign, as they stand in the ledger."""

    run: str | None
    id: int
    status: str
    rule: str | None
    gain: float | None
    hypothesis: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Match:
    closeness: float
    ts: str
    place: int
    glance: HypothesisGlance


def similar_experiments(
    root: Path, tag: str | None, hypothesis: str, notice: Callable[[str], None]
) -> tuple[Earlier, ...]:
    """At most MAX_FOUND experiments whose hypothesis is close to this one (core/similarity.py), newest first.

    Looked for in the work tree's ledger `root`/research/ledger.jsonl, which is that of the run `tag`, and in every
    other run that was exported to `root`/research/runs. Where more are close, the closest are taken. A file that is
    damaged is left out and told to `notice`.
    """
    wanted = essence(hypothesis)
    if not wanted.words:
        return ()
    found: list[tuple[_Match, Earlier]] = []
    for run, file in _ledgers(root, tag):
        try:
            matches = _matches(file, wanted)
            gains = _gains(file, matches)
        except Refused as e:
            notice(f"not searched for ideas like this one: {e.message}")
            continue
        found += [(match, _earlier(run, match, gains[match.place])) for match in matches]
    closest = sorted(found, key=lambda pair: (pair[0].closeness, pair[0].ts), reverse=True)[:MAX_FOUND]
    newest = sorted(closest, key=lambda pair: pair[0].ts, reverse=True)
    return tuple(earlier for _, earlier in newest)


def memory_lines(found: Sequence[Earlier]) -> list[str]:
    """One line of plain, clean text for each: "earlier: #12 discard (gain_too_small, +0.4 %): 'text'"."""
    return [_line(earlier) for earlier in found]


def _line(earlier: Earlier) -> str:
    run = f"{one_line(earlier.run, 64)} " if earlier.run else ""
    gain = gain_text(1 + earlier.gain) if earlier.gain is not None else ""
    why = ", ".join(part for part in (one_line(earlier.rule, 40), gain) if part)
    head = f"earlier: {run}#{earlier.id} {one_line(earlier.status, 20)}"
    return f"{head}{f' ({why})' if why else ''}: '{one_line(earlier.hypothesis, _TEXT_LIMIT)}'"


def _ledgers(root: Path, tag: str | None) -> Iterator[tuple[str | None, RowFile]]:
    """This run's ledger, and those of the other runs that were exported."""
    yield None, live_ledger(root)
    for path in sorted((root / RUNS).glob("[!.]*/ledger.jsonl")):
        name = path.parent.name
        if name != tag and not path.parent.is_symlink():
            yield name, RowFile(path=path, shown=f"{RUNS}/{one_line(name, 64)}/ledger.jsonl")


def _matches(file: RowFile, wanted: Essence) -> list[_Match]:
    """The close rows of one file, at most MAX_FOUND, the newest of the closest."""
    seen: dict[str, float] = {}
    found: list[_Match] = []
    for place, glance in enumerate(read_hypotheses(file)):
        text = glance.hypothesis or ""
        near = seen.get(text)
        if near is None:
            near = seen[text] = closeness(wanted, essence(text))
        if near >= CLOSE:
            found.append(_Match(closeness=near, ts=glance.ts or "", place=place, glance=glance))
    return sorted(found, key=lambda match: (match.closeness, match.place))[-MAX_FOUND:]


def _gains(file: RowFile, matches: Sequence[_Match]) -> dict[int, float | None]:
    """{place: gain}: only these rows are decoded whole."""
    places = {match.place for match in matches}
    if not places:
        return {}
    return {
        place: gain_over_champion(file.decode_line(decode_row, number, line))
        for place, (number, line) in enumerate(file.lines())
        if place in places
    }


def _earlier(run: str | None, match: _Match, gain: float | None) -> Earlier:
    glance = match.glance
    return Earlier(
        run=run, id=glance.id, status=glance.status, rule=glance.rule, gain=gain, hypothesis=glance.hypothesis or ""
    )
