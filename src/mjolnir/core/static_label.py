"""The facts of a kernel in one line, which says first that it is no timing."""

from __future__ import annotations

from mjolnir.core.static_change import LaunchChange, StaticChange
from mjolnir.core.static_facts import StaticReport
from mjolnir.core.static_report import KV_RATIO_LIMIT, main_launches, worst_ratio

UNCHECKED = "correctness: not checked here"


def label_line(report: StaticReport, change: StaticChange | None = None) -> str:
    """What kind of answer this is, and the facts that decide most: of the launch with most registers, the longest L."""
    most = max(main_launches(report), key=lambda f: f.launch.code.registers)
    parts = [
        f"STATIC (no GPU): not a timing. compiles {report.arch.name} ok",
        f"spills {sum(f.launch.code.spills for f in report.launches)}",
        f"{most.launch.code.registers} regs",
        f"{most.occupancy.ctas_per_sm} CTA/SM ({most.occupancy.limiter})",
        f"K/V reads {ratio_text(worst_ratio(report, report.lengths[-1]))}",
        f"partials {max(f.partial_bytes for f in report.launches) / 1e6:.2f} MB",
    ]
    if change is not None:
        parts.append(_sass_text(change))
    return " | ".join([*parts, UNCHECKED])


def ratio_text(ratio: float | None) -> str:
    """Bytes loaded per byte of KV, with a third digit where it is a lot."""
    if ratio is None:
        return "not counted"
    return f"{ratio:.3f}x" if ratio > KV_RATIO_LIMIT else f"{ratio:.2f}x"


def row_step(one: LaunchChange) -> float | None:
    """Instructions per KV row, after against before, in percent."""
    before = one.before and one.before.instructions_per_kv_row
    after = one.after and one.after.instructions_per_kv_row
    return (after / before - 1) * 100 if before and after else None


def _sass_text(change: StaticChange) -> str:
    if all(one.is_same_code for one in change.changes):
        return "SASS unchanged"
    steps = [step for one in change.changes if (step := row_step(one)) is not None]
    worst = max(steps, key=abs, default=None)
    return "SASS changed" if worst is None else f"SASS changed ({worst:+.1f} % instr/row)"
