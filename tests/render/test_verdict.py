"""The answer of evaluate: at most 25 lines, the verdict and the command to type last."""

from __future__ import annotations

import pytest

from mjolnir.render.verdict import MAX_LINES, VerdictView, verdict_text


def test_a_keep_reads_as_figures_then_verdict_then_next_step(make_row):
    view = VerdictView(
        row=make_row(7, "keep", rule="gain", reason="geomean +4.1%", set_aside=[4096]),
        champion=make_row(3, "keep", score=1.0),
        next_text="the branch head is the new champion: make the next change",
        kv_bytes={128: 262144, 4096: 8388608},
        bandwidth_gbps=273.0,
        log="research/logs/7.log",
    )
    assert verdict_text(view).plain.splitlines() == [
        "     L  reference us    kernel us   speedup  vs champion     GB/s  % of floor",
        "   128         13.18        12.80    1.030x       +3.0 %    20.49         8 %",
        "    4K         44.90        42.66    1.052x       +5.2 %   196.64        72 %  set aside",
        "score 1.0412x of the reference, champion #3 1.0000x, correctness pass",
        "set aside (the reference moved): 4K",
        "log: research/logs/7.log",
        "experiment #7 at 3a90293: split the pages",
        "✓ KEEP (gain): geomean +4.1%",
        "next: the branch head is the new champion: make the next change",
    ]


def test_a_wrong_kernel_has_no_table_and_ends_with_the_command(make_row):
    row = make_row(
        9,
        "discard",
        score=None,
        per_L={},
        vs_best={},
        correctness="fail",
        rule="incorrect",
        reason="needle L=128 failed",
    )
    lines = verdict_text(
        VerdictView(row=row, next_text="undo it", next_command="git reset --hard 3a90293")
    ).plain.splitlines()
    assert lines == [
        "correctness fail, no score",
        "experiment #9 at 3a90293: split the pages",
        "· DISCARD (incorrect): needle L=128 failed",
        "next: undo it",
        "run:  git reset --hard 3a90293",
    ]


@pytest.mark.parametrize("count", [1, 8, 12, 13, 40])
def test_it_never_takes_more_than_25_lines_and_the_command_is_whole(make_row, hostile, count):
    per_length = {str(128 * i): 1.0 + i / 100 for i in range(1, count + 1)}
    row = make_row(
        1, "invalid", per_L=per_length, vs_best=per_length, codes=["E_STATE"] * 9, notes=[hostile] * 9, set_aside=[128],
        hypothesis=hostile * 9999, reason=hostile * 9999, rule="E_STATE",
    )  # fmt: skip
    command = "git reset --hard " + "0123456789abcdef" * 40
    view = VerdictView(row=row, log="research/x.log", next_text=hostile, next_command=command)
    lines = verdict_text(view).plain.splitlines()
    assert len(lines) <= MAX_LINES
    assert lines[-1] == f"run:  {command}"
    assert lines[-3].startswith("! INVALID (E_STATE): [/=] [bold]x[/] red nul")


def test_numbers_that_are_none_do_not_end_it(make_row):
    row = make_row(per_L={"4K": 1.2, "128": float("nan"), "what": 1.0}, vs_best={}, fi_us={}, mj_us={})
    assert verdict_text(VerdictView(row=row)).plain.splitlines()[1].split() == ["4K", "—", "—", "1.200x", "—"]
