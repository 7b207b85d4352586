"""The facts of a GPU kernel as people read them: what was counted, no time, no score."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mjolnir.core.lengths import length_label
from mjolnir.core.static_change import LaunchChange, StaticChange
from mjolnir.core.static_facts import LaunchFacts, StaticReport
from mjolnir.core.static_label import label_line, ratio_text, row_step
from mjolnir.core.static_report import main_launches
from mjolnir.render.number import DASH, us_text
from mjolnir.render.text import one_line, short_commit

_NAME_CELLS = 16
_MIX_SHOWN = 8


def static_lines(report: StaticReport, change: StaticChange | None) -> list[str]:
    """The whole of it: the label, a row a distinct launch, the main loops, the floor, what changed, remarks."""
    return [
        label_line(report, change),
        "",
        *_table(report),
        "",
        *_loop_lines(report),
        *_floor_lines(report),
        *(_change_lines(change, report.lengths) if change is not None else ()),
        *(f"note: {one_line(note, 400)}" for note in report.notes),
    ]


def _table(report: StaticReport) -> Iterator[str]:
    heads = f"{'q':<9} {'L':<10} {'kernel':<{_NAME_CELLS}} {'grid':>11} {'warps':>5} {'stages':>6} {'regs':>4} "
    yield heads + f"{'spills':>6} {'shared B':>8} {'TMEM':>4} {'instr/row':>9} {'K/V':>6}  CTA/SM"
    for facts in report.launches:
        launch, code = facts.launch, facts.launch.code
        per_row, ratio = facts.instructions_per_kv_row, max(facts.bytes_ratio.values(), default=None)
        yield (
            f"{facts.q_dtype:<9} {lengths_text(facts.lengths, report.lengths):<10} "
            f"{one_line(launch.kernel, _NAME_CELLS):<{_NAME_CELLS}} {'x'.join(map(str, launch.grid)):>11} "
            f"{launch.warps:>5} {launch.stages:>6} {code.registers:>4} {code.spills:>6} {launch.shared_bytes:>8,} "
            f"{launch.tmem_columns:>4} {DASH if per_row is None else f'{per_row:.1f}':>9} "
            f"{DASH if ratio is None else ratio_text(ratio):>6}  {_occupancy_text(facts)}"
        )
    if any(f.occupancy.queried_ctas_per_sm is not None for f in report.launches):
        yield (
            f"CTA/SM in brackets: by the {report.arch.queried_shared_per_sm_bytes:,} B of shared memory that the "
            f"driver reports for an SM; the table of capabilities has {report.arch.shared_per_sm_bytes:,} B"
        )


def _occupancy_text(facts: LaunchFacts) -> str:
    found = facts.occupancy
    queried = f" [{found.queried_ctas_per_sm}]" if found.queried_ctas_per_sm is not None else ""
    return f"{found.ctas_per_sm} {found.limiter}{queried}"


def lengths_text(lengths: Sequence[int], of: Sequence[int]) -> str:
    """4K..256K where `lengths` are neighbours among `of`, else 128,8K."""
    if len(lengths) < 3:
        return ",".join(map(length_label, lengths))
    places = [of.index(n) for n in lengths if n in of]
    if len(places) == len(lengths) and places == list(range(places[0], places[0] + len(places))):
        return f"{length_label(lengths[0])}..{length_label(lengths[-1])}"
    return ",".join(map(length_label, lengths))


def _loop_lines(report: StaticReport) -> Iterator[str]:
    """The instruction mix of each main loop, once for each machine code."""
    seen: set[str] = set()
    for facts in main_launches(report):
        code = facts.launch.code
        if code.sass_hash in seen or code.loop_instructions is None:
            continue
        seen.add(code.sass_hash)
        mix = ", ".join(f"{name} {count}" for name, count in list(code.mix.items())[:_MIX_SHOWN])
        mma = ", ".join(f"{name} {count}" for name, count in code.mma.items())
        rows = f" for {facts.rows_per_iteration:g} KV rows" if facts.rows_per_iteration else ""
        yield (
            f"main loop of {one_line(facts.launch.kernel, _NAME_CELLS)}, q {facts.q_dtype}, L "
            f"{lengths_text(facts.lengths, report.lengths)}: {code.loop_instructions} instructions x "
            f"{facts.launch.warps} warps{rows}: {mix} | {mma or 'no tensor cores'}"
        )


def _floor_lines(report: StaticReport) -> Iterator[str]:
    if not report.floor_us:
        return
    bounds = ", ".join(f">= {us_text(us)} us at {length_label(n)}" for n, us in report.floor_us.items())
    yield f"{bounds} is the DRAM floor, not a prediction (K and V once, cold cache)"


def _change_lines(change: StaticChange, lengths: Sequence[int]) -> Iterator[str]:
    same = "the same machine code in the same launches (what torch itself does on the device is not looked at)"
    yield f"against {short_commit(change.commit)}: {same if change.is_same_program else 'another program'}"
    for one in change.changes:
        yield f"  {_change_text(one, lengths)}"


def _change_text(one: LaunchChange, of: Sequence[int]) -> str:
    facts = one.after or one.before
    assert facts is not None
    lengths = lengths_text(one.lengths, of)
    head = f"{one_line(facts.launch.kernel, _NAME_CELLS)}, q {one.q_dtype}, L {lengths}: "
    if one.before is None or one.after is None:
        return head + ("new" if one.before is None else "gone")
    before, after = one.before.launch.code, one.after.launch.code
    if one.is_same_code and one.before.launch.grid == one.after.launch.grid:
        return head + "SASS unchanged"
    parts = ["SASS unchanged" if one.is_same_code else "SASS changed"]
    rows = (one.before.instructions_per_kv_row, one.after.instructions_per_kv_row)
    if None not in rows:
        parts.append(f"instr/row {rows[0]:.1f} -> {rows[1]:.1f} ({row_step(one) or 0.0:+.1f} %)")
    figures = {
        "regs": (before.registers, after.registers),
        "spills": (before.spills, after.spills),
        "shared B": (one.before.launch.shared_bytes, one.after.launch.shared_bytes),
        "CTA/SM": (one.before.occupancy.ctas_per_sm, one.after.occupancy.ctas_per_sm),
        "grid": tuple("x".join(map(str, f.launch.grid)) for f in (one.before, one.after)),
    }
    parts += [f"{name} {a} -> {b}" if a != b else f"{name} {a}" for name, (a, b) in figures.items()]
    return head + " | ".join(parts)
