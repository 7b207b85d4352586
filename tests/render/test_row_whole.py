"""One experiment whole."""

from __future__ import annotations

from mjolnir.render.row import row_block


def test_a_row_shows_its_whole_hypothesis_and_every_fact(make_row):
    row = make_row(
        7, "keep", rule="gain", reason="geomean +4.1%", hypothesis="first line\nsecond line",
        sources=["https://arxiv.org/x"],
        commit_full="3a90293" + "0" * 33, parent_full="b" * 40, champion_id=3, champion_commit="c" * 40,
        notes=["odd import"],
        seconds={"correctness": 3.1, "sweep": 21.5}, run="oct11", target="cpu", attempt=2,
    )  # fmt: skip
    assert row_block(row).plain.splitlines() == [
        "#7 ✓ keep (gain)",
        "",
        "first line",
        "second line",
        "",
        "why         geomean +4.1%",
        "score       1.0412x of the reference, +4.1 % against its champion (champion's score then: 1.0000)",
        "correctness pass",
        "commit      3a90293000000000000000000000000000000000 (parent bbbbbbbbbbbb)",
        "champion    #3 cccccccccccc",
        "attempt     2",
        "note        odd import",
        "agent       autoresearch",
        "source      https://arxiv.org/x",
        "when        2026-03-01T00:05:00+00:00",
        "run         oct11 · autoresearch/oct11 · cpu",
        "seconds     correctness 3.1, sweep 21.5",
        "",
        "     L  reference us    kernel us   speedup  vs champion",
        "   128         13.18        12.80    1.030x       +3.0 %",
        "    4K         44.90        42.66    1.052x       +5.2 %",
    ]


def test_a_hostile_megabyte_is_shown_as_words_and_cut(make_row, hostile):
    text = row_block(make_row(hypothesis=hostile + "x" * 1_000_000, device={"name": "\x1b[31m"})).plain
    assert "\x1b" not in text
    assert "[/=] [bold]x[/] red nul\nnew\tline RTL" in text
    assert "more characters]" in text
    assert len(text) < 25_000
