"""The progress chart: drawn for any ledger, on both grounds, with text as data and no word on stderr."""

from __future__ import annotations

import io
import random
import subprocess
import sys
import xml.dom.minidom

import pytest
from PIL import Image

from mjolnir.core.model import RowGlance, Status
from mjolnir.render.chart import draw_progress
from mjolnir.render.chart_data import ChartData, chain, labelled_ids, rug_lanes, score_scale
from mjolnir.render.style import DARK, LIGHT, STATUS_STYLES

SVG = "http://www.w3.org/2000/svg"


def glance(row_id, status, score=None):
    return RowGlance(id=row_id, status=Status(status), score=score)


def make_rows(count):
    dice, best, rows = random.Random(7), 1.0, [glance(1, "baseline", 1.0)]
    for row_id in range(2, count + 1):
        status = dice.choices(["keep", "discard", "noisy", "crash", "invalid"], [4, 70, 5, 14, 7])[0]
        best *= 1.03 if status == "keep" else 1.0
        score = None if status in ("crash", "invalid") else best * (1 if status == "keep" else dice.gauss(0.97, 0.05))
        rows.append(glance(row_id, status, score))
    return rows


def make_data(rows, **values):
    defaults = dict(
        title="oct11",
        rows=rows,
        hypotheses={row_id: f"idea {row_id}" for row_id in labelled_ids(rows)},
        baseline_per_length={128: 1.0, 4096: 0.9},
        champion_per_length={128: 1.2, 4096: 0.8},
    )
    return ChartData(**(defaults | values))


def words(svg):
    """Every text of an SVG."""
    nodes = xml.dom.minidom.parseString(svg).getElementsByTagName("text")
    return ["".join(child.data for child in node.childNodes if child.nodeType == child.TEXT_NODE) for node in nodes]


@pytest.mark.parametrize("count", [0, 1, 5, 60, 5000])
def test_a_chart_of_any_length_is_1600_by_1000_on_both_grounds(count):
    drawn = draw_progress(make_data(make_rows(count) if count else []))
    assert list(drawn) == ["", "-dark"]
    for palette in (LIGHT, DARK):
        image = Image.open(io.BytesIO(drawn[palette.suffix])).convert("RGB")
        assert image.size == (1600, 1000)
        assert image.getpixel((1, 1)) == tuple(bytes.fromhex(palette.ground[1:]))


def test_the_svg_says_title_counts_labels_and_the_split_per_length():
    rows = [glance(1, "baseline", 1.0), glance(2, "discard", 0.9), glance(3, "keep", 1.5), glance(4, "crash")]
    said = words(draw_progress(make_data(rows, gains={3: 1.5}, confirmed_gain=0.5), svg=True)[""])
    assert "oct11: 4 experiments, 1 kept" in said
    assert "baseline 1" in said
    assert "kept 1" in said
    assert "discarded 1" in said
    assert "crashed 1" in said
    assert "crash 1" in said
    assert any(text.endswith("#3 +50.0 %  idea 3") for text in said)
    assert any(text.endswith("#1  idea 1") for text in said)
    assert "champion #3 against baseline #1, per context length" in said
    assert "+20.0 %" in said
    assert "-11.1 %" in said


def test_a_run_without_a_keep_says_so():
    said = words(draw_progress(make_data([glance(1, "baseline", 1.0)]), svg=True)[""])
    assert "no experiment was kept yet: nothing to compare with the baseline per L" in said


@pytest.mark.parametrize(
    "text",
    [
        "$\\frac{1}{0}$ $x",
        "\\bad_{",
        "中文 🚀 ก",
        "שלום עולם",
        "<script>&amp;</script>",
        "a" * 1_000_000,
        "\x00\x1b[31m\n",
    ],
)
def test_any_hypothesis_is_drawn_as_text_and_nothing_is_said_on_stderr(text, recwarn, capfd):
    rows = [glance(1, "baseline", 1.0), glance(2, "keep", 1.2)]
    data = make_data(rows, hypotheses={1: text, 2: text}, title=text)
    assert draw_progress(data)[""].startswith(b"\x89PNG")
    assert b"<script" not in draw_progress(data, svg=True)[""]
    assert not recwarn.list
    assert capfd.readouterr() == ("", "")


def test_rows_without_a_score_are_on_a_rug_by_kind():
    rows = [
        glance(1, "crash"),
        glance(2, "invalid", 99.0),
        glance(3, "discard"),
        glance(4, "noisy"),
        glance(5, "keep", 1.0),
    ]
    lanes = rug_lanes(rows)
    assert {name: [row.id for row in held] for name, held in lanes.items()} == {
        "crash": [1], "invalid": [2], "wrong": [3], "no score": [4]
    }  # fmt: skip


def test_the_staircase_is_the_lineage_and_not_the_maximum():
    rows = [glance(1, "baseline", 1.0), glance(2, "keep", 1.5), glance(3, "discard", 9.0), glance(4, "keep", 1.4)]
    assert [row.id for row in chain(rows)] == [1, 2, 4]


def test_one_absurd_discard_does_not_flatten_the_staircase():
    rows = [glance(1, "baseline", 1.0), glance(2, "keep", 1.2), glance(3, "discard", 1e-4), glance(4, "discard", 500.0)]
    scale = score_scale(rows, headroom=0.2)
    assert 0.5 < scale.low < 1.0
    assert 1.2 < scale.high < 2.0


def test_a_wide_range_is_logarithmic():
    assert score_scale([glance(1, "baseline", 0.3), glance(2, "keep", 1.7)], headroom=0.2).is_log


def test_at_most_twelve_labels_the_champion_and_the_baseline_among_them():
    rows = [glance(i, "keep" if i > 1 else "baseline", 1 + i / 10) for i in range(1, 100)]
    ids = labelled_ids(rows)
    assert len(ids) == 12
    assert {1, 99} <= set(ids)


def test_status_is_told_by_shape_as_well_as_by_colour():
    for part in ("glyph", "marker", "light", "dark"):
        assert len({getattr(style, part) for style in STATUS_STYLES.values()}) == len(Status)


def test_a_home_that_cannot_be_written_costs_neither_the_chart_nor_a_warning(tmp_path):
    code = (
        "from mjolnir.render.chart import draw_progress; from mjolnir.render.chart_data import ChartData;"
        "print(len(draw_progress(ChartData(title='x', rows=[]))))"
    )
    environment = {"PATH": "/usr/bin:/bin", "HOME": "/proc/nowhere", "TMPDIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("2\n", "")
    assert list(tmp_path.glob("mjolnir-matplotlib-*/fontlist*.json"))


def test_settings_of_a_user_do_not_change_the_chart(tmp_path):
    (tmp_path / "matplotlibrc").write_text("text.usetex: True\nsavefig.bbox: tight\nfont.family: serif\n")
    code = (
        "import sys; from mjolnir.render.chart import draw_progress; from mjolnir.render.chart_data import ChartData;"
        "sys.stdout.buffer.write(draw_progress(ChartData(title='x', rows=[]))[''])"
    )
    environment = {"PATH": "/usr/bin:/bin", "MPLCONFIGDIR": str(tmp_path), "MPLBACKEND": "no such thing"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, check=True)
    assert Image.open(io.BytesIO(done.stdout)).size == (1600, 1000)
    assert done.stderr == b""
