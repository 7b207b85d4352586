"""What status says of a run, and the digest for an agent with an empty context."""

from __future__ import annotations

import dataclasses

from mjolnir.render.status import MAX_BRIEF_LINES, RunningView, StatusView, Task, brief_block, status_block


def make_view(make_row, **changes):
    view = StatusView(
        run="oct11",
        branch="autoresearch/oct11",
        target="cpu",
        total=3,
        counts={"baseline": 1, "keep": 1, "discard": 1},
        baseline=make_row(1, "baseline", score=1.0, hypothesis="the starting kernel"),
        champion=make_row(2, "keep"),
        confirmed_gain=0.041,
        since_gain=1,
        plateau=15,
    )
    return dataclasses.replace(view, **changes)


def test_status_reads_in_eight_lines(make_row):
    assert status_block(make_view(make_row)).plain.splitlines() == [
        "run oct11 · branch autoresearch/oct11 · target cpu",
        "experiments  3 (1 baseline, 1 keep, 1 discard)",
        "baseline     #1 3a90293  1.0000x of the reference  the starting kernel",
        "champion     #2 3a90293  1.0412x of the reference  split the pages",
        "gain         +4.1 % over the baseline (the gains along the kept chain, multiplied)",
        "plateau      1 experiment since the last gain",
        "ledger       3 rows, in order",
    ]


def test_a_gains_interval_and_a_ledger_without_an_anchor_are_told(make_row):
    lines = status_block(make_view(make_row, gain_interval=(0.032, 0.0501), is_anchored=False)).plain.splitlines()
    assert lines[4] == (
        "gain         +4.1 % over the baseline (95 %: +3.2 % to +5.0 %; the gains along the kept chain, multiplied)"
    )
    assert lines[-1] == "ledger       3 rows, in order, unanchored (rows removed before now would not show)"


def test_an_empty_run_says_what_to_type(make_row):
    view = make_view(make_row, run=None, target=None, total=0, counts={}, baseline=None, champion=None, branch="main")
    assert status_block(view).plain.splitlines() == [
        "no run · branch main",
        "experiments  none yet",
        "ledger       0 rows, in order",
        "next         mjolnir autoresearch init TAG",
    ]


def test_an_interrupted_evaluation_is_told_with_its_log(make_row, hostile):
    running = RunningView(
        pid=7,
        commit="abc1234",
        hypothesis=hostile,
        stage="sweep",
        started="10:00",
        is_alive=False,
        log="research/x.log",
    )
    lines = status_block(make_view(make_row, running=running)).plain.splitlines()
    assert lines[-2].startswith(
        "interrupted  sweep of abc1234 since 10:00 (pid 7): [/=] [bold]x[/] red nul new line RTL"
    )
    assert lines[-2].endswith("nothing was recorded, evaluate the commit again")
    assert lines[-1] == "             log: research/x.log"


def test_a_broken_ledger_and_a_plateau_are_said_in_words(make_row):
    text = status_block(
        make_view(make_row, problem="research/ledger.jsonl: 2 rows, but the anchor remembers 3", since_gain=15)
    ).plain
    assert "! DAMAGED: research/ledger.jsonl: 2 rows, but the anchor remembers 3" in text
    assert "15 experiments since the last gain: a plateau" in text


def test_the_digest_has_task_champion_verdicts_and_dead_ends_in_at_most_forty_lines(make_row, hostile):
    view = make_view(
        make_row,
        task=Task(kernel="src/mjolnir_kernel/cpu_decode.py", lengths=(128, 4096), min_gain=0.05, rule="seed"),
        running=RunningView(pid=7, commit="a", hypothesis=hostile, stage="sweep", started="", is_alive=False, log="x"),
        recent=[make_row(i, "keep", hypothesis=f"idea {i}") for i in range(90, 100)],
        dead_ends=[make_row(i, "crash", vs_best={}, hypothesis=hostile, reason="no score") for i in range(1, 60)],
        problem="x",
    )
    lines = brief_block(view).plain.splitlines()
    assert len(lines) <= MAX_BRIEF_LINES
    assert "task         make src/mjolnir_kernel/cpu_decode.py faster at L = 128, 4K" in lines
    assert "rule         seed: a keep gains more than 5 % (geomean over L)" in lines
    assert "  #99 ✓ keep       +4.1 %  idea 99" in lines
    assert any(line.startswith("  #59 ✗ crash              [/=] [bold]x[/]") and "no score" in line for line in lines)


def test_scores_that_tell_another_gain_are_said(make_row):
    first = make_row(1, "baseline", score=1.0)
    honest = make_view(make_row, baseline=first, champion=make_row(2, "keep", score=1.9), confirmed_gain=1.0)
    assert "scores alone" not in status_block(honest).plain
    odd = make_view(make_row, baseline=first, champion=make_row(2, "keep", score=1.01), confirmed_gain=1.0)
    assert "the two scores alone say +1.0 %: mjolnir autoresearch recheck" in status_block(odd).plain
