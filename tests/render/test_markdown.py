"""SUMMARY.md: no text of an agent can break its table, carry HTML or make a link of its own."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from mjolnir.render.markdown import Summary, escape_markdown, source_links, summary_markdown

HEADER = "| id | commit | status | score | why | agent | hypothesis | sources |"


def make_summary(rows, **changes):
    values = dict(
        tag="oct11",
        rows=rows,
        counts={"baseline": 1, "keep": 1},
        baseline=rows[0],
        champion=rows[-1],
        confirmed_gain=0.041,
    )
    return summary_markdown(Summary(**(values | changes)))


def test_a_summary_has_baseline_best_counts_and_a_row_an_experiment(make_row):
    rows = [
        make_row(1, "baseline", score=0.7406, hypothesis="the starting kernel", reason="the starting kernel"),
        make_row(2, "keep", sources=["https://arxiv.org/abs/1", "arXiv:2307.08691"], reason="geomean +4.1%"),
    ]
    assert make_summary(rows, diffs=frozenset({2})) == (
        "# autoresearch run oct11\n"
        "\n"
        "- experiments: 2 (1 baseline, 1 keep)\n"
        "- baseline: **#1** 0.7406x of the reference at `3a90293`: the starting kernel\n"
        "- best: **#2** 1.0412x of the reference at `3a90293`: split the pages"
        " (the newest kept one, never the maximum of noisy scores)\n"
        "- gain along the kept chain: +4.1 %\n"
        "- score: time of the reference / time of the kernel in the same run, geomean over the context lengths\n"
        "\n"
        "<picture>\n"
        '  <source media="(prefers-color-scheme: dark)" srcset="progress-dark.png">\n'
        '  <img alt="every experiment by status, and the gain per context length" src="progress.png">\n'
        "</picture>\n"
        "\n"
        f"{HEADER}\n"
        "|--:|---|---|--:|---|---|---|---|\n"
        "| 1 | `3a90293` | baseline | 0.7406 | the starting kernel | autoresearch | the starting kernel | — |\n"
        "| 2 | [`3a90293`](diffs/2.diff) | keep | 1.0412 | geomean +4.1% | autoresearch | split the pages "
        "| [1](https://arxiv.org/abs/1) arXiv:2307.08691 |\n"
    )


def rendered_cells(text):
    """The cells of the last row as a Markdown reader shows them, with raw HTML switched on."""
    html = MarkdownIt("commonmark", {"html": True}).enable("table").render(text)
    return html, re.findall(r"<td[^>]*>(.*?)</td>", html.rsplit("<tr>", 1)[1], re.DOTALL)


def test_hostile_words_stay_words(make_row, hostile):
    row = make_row(
        2, hypothesis=hostile, reason="a|b `c` *d* _e_ [f](http://g) \\| <b>", agent="<img src=x>", commit="<i>"
    )
    html, cells = rendered_cells(make_summary([make_row(1, "baseline"), row], tag="<b>tag</b>"))
    assert len(cells) == 8
    assert "<script" not in html
    assert "<b>" not in html
    assert "<img src=x" not in html
    assert cells[4] == "a|b `c` *d* _e_ [f](http://g) \\| &lt;b&gt;"
    assert cells[6] == "[/=] [bold]x[/] red nul new line RTL | `code` &lt;script&gt;alert(1)&lt;/script&gt;"


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=60))
def test_any_text_is_one_cell_without_elements(text):
    _, cells = rendered_cells(f"| a | b |\n|---|---|\n| {escape_markdown(text) or '-'} | end |\n")
    assert cells[-1] == "end"
    assert len(cells) == 2
    assert "<" not in cells[0]


@pytest.mark.parametrize(
    "source",
    [
        "javascript:alert(1)",
        "data:text/html,x",
        "file:///etc/passwd",
        "https://",
        "//host/path",
        "http://[::1",
        "HTTPS ://x",
        "https://x" + "y" * 3000,
    ],
)
def test_only_web_addresses_become_links(source):
    assert "](" not in source_links([source])


def test_an_address_cannot_leave_its_link():
    links = source_links(['https://a.b/c(d)|e`f"<g> [h]\\i', "http://x/%20y?q=1&r=2#s"])
    assert links == "[1](https://a.b/c%28d%29%7Ce%60f%22%3Cg%3E%20%5Bh%5D%5Ci) [2](http://x/%20y?q=1&r=2#s)"
