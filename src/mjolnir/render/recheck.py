"""A recheck for people: what was measured anew beside what the ledger claims."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.text import Text

from mjolnir.core.lengths import length_label
from mjolnir.render.fact_line import claim_text, estimate_text
from mjolnir.render.number import per_length, score_text, times_text
from mjolnir.render.text import one_line

_LIMIT = 300


def recheck_block(answer: Mapping[str, Any]) -> Text:
    """The whole answer, ready to print: a table by L, then the headline, then whether the ledger's claim holds."""
    return Text("\n").join(Text(line) for line in _lines(answer))


def _lines(answer: Mapping[str, Any]) -> Iterator[str]:
    champion, claimed = answer["champion"], answer["claimed"]
    yield from _table(answer)
    if answer["speedup"] is not None:
        yield (
            f"champion #{champion['id']} over baseline #{answer['baseline']['id']}: {estimate_text(answer['speedup'])}"
        )
        yield f"  the ledger claims {claim_text(claimed) or 'nothing that can be read'}{_verdict(answer)}"
    else:
        yield f"the champion is the baseline #{champion['id']}: no gain to measure anew"
    yield f"champion over reference: {estimate_text(answer['score'])}; the ledger says {score_text(claimed['score'])}x"
    if answer["baseline_score"] is not None:
        before = estimate_text(answer["baseline_score"])
        yield f"baseline over reference: {before}; the ledger says {score_text(claimed['baseline_score'])}x"
    yield from (f"note: {one_line(note, _LIMIT)}" for note in answer["notes"])
    yield from (f"not steady, also when measured again: {one_line(why, _LIMIT)}" for why in answer["unsteady"])
    yield (
        f"{answer['rounds']} rounds, {answer['seconds']:.0f} s; not a row of the ledger: "
        f"research/verify/recheck/{one_line(answer['id'], 60)}.json"
    )


def _verdict(answer: Mapping[str, Any]) -> str:
    if answer["agrees"] is None:
        return ""
    return ": it holds" if answer["agrees"] else ": it does NOT hold here, outside what was measured"


def _table(answer: Mapping[str, Any]) -> Iterator[str]:
    """Speedups by L."""
    columns = [("over baseline", answer["speedup"]), ("over reference", answer["score"])]
    shown = [(name, per_length(estimate["per_L"])) for name, estimate in columns if estimate is not None]
    yield f"{'L':>6}" + "".join(f" {name:>15}" for name, _ in shown)
    for tokens in shown[-1][1]:
        yield f"{length_label(tokens):>6}" + "".join(f" {times_text(ratios.get(tokens)):>15}" for _, ratios in shown)
