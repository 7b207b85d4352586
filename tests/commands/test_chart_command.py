"""`mjolnir autoresearch chart`."""

from __future__ import annotations

import os
import xml.dom.minidom

import pytest
from PIL import Image
from reader_place import VERSION_0, make_place, make_run


@pytest.fixture
def place(tmp_path):
    return make_run(tmp_path / "a répo")


def said(path):
    return path.read_text()


def test_two_pictures_are_written_and_named(mjolnir, place):
    answer = mjolnir("autoresearch", "chart", cwd=place.root)
    research = place.root / "research"
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.splitlines() == [str(research / "progress.png"), str(research / "progress-dark.png")]
    for name in ("progress.png", "progress-dark.png"):
        assert Image.open(research / name).size == (1600, 1000)


def test_svg_is_an_option_and_says_what_the_run_says(mjolnir, place):
    assert mjolnir("autoresearch", "chart", "--svg", cwd=place.root).code == 0
    text = said(place.root / "research" / "progress.svg")
    xml.dom.minidom.parseString(text)
    assert "oct11: 5 experiments, 1 kept" in text
    assert "#2 3.00x  page tiles" in text
    assert "champion #2 against baseline #1, per context length" in text
    assert (place.root / "research" / "progress-dark.svg").is_file()


@pytest.mark.parametrize("name", ["mine.svg", "mine.PNG"])
def test_out_names_the_file_and_its_ending_the_kind(mjolnir, place, tmp_path, name):
    answer = mjolnir("autoresearch", "chart", "--out", tmp_path / name, cwd=place.root)
    assert answer.code == 0
    head = (tmp_path / name).read_bytes()[:8]
    assert head.startswith(b"<?xml" if name.endswith("svg") else b"\x89PNG")
    assert (tmp_path / name.replace("mine", "mine-dark")).is_file()


@pytest.mark.parametrize(
    "words", [["--out", "x.pdf"], ["--out", "x"], ["--out", "no/where.png"], ["--svg", "--out", "x.png"]]
)
def test_an_out_that_makes_no_sense_is_wrong_use(mjolnir, place, words):
    answer = mjolnir("autoresearch", "chart", *words, cwd=place.root)
    assert answer.code == 2
    assert [line.split(":")[0] for line in answer.err.splitlines()] == ["error", "hint"]


def test_a_folder_as_out_is_wrong_use(mjolnir, place):
    (place.root / "x.png").mkdir()
    assert mjolnir("autoresearch", "chart", "--out", "x.png", cwd=place.root).code == 2


def test_without_a_live_ledger_the_newest_exported_run_is_drawn(mjolnir, place):
    mjolnir("autoresearch", "export", cwd=place.root)
    place.git("switch", "-q", "main")
    runs = place.root / "research" / "runs"
    for name in ("ledger.jsonl", "ledger.tsv"):
        (place.root / "research" / name).unlink()
    (runs / "older").mkdir()
    (runs / "older" / "ledger.jsonl").write_bytes(VERSION_0.read_bytes())
    os.utime(runs / "older" / "ledger.jsonl", (1, 1))
    (runs / ".oct11.1.tmp").mkdir()
    (runs / ".oct11.1.tmp" / "ledger.jsonl").write_text("half")
    assert mjolnir("autoresearch", "chart", "--svg").code == 0
    assert "oct11: 5 experiments, 1 kept" in said(place.root / "research" / "progress.svg")


def test_without_any_run_the_picture_says_so(mjolnir, tmp_path):
    place = make_place(tmp_path / "r")
    assert mjolnir("autoresearch", "chart", "--svg", cwd=place.root).code == 0
    assert "no experiments yet" in said(place.root / "research" / "progress.svg")


def test_a_ledger_of_mjolnir_cli_0_2_0_is_drawn(mjolnir, tmp_path):
    place = make_place(tmp_path / "r")
    (place.root / "research").mkdir()
    (place.root / "research" / "ledger.jsonl").write_bytes(VERSION_0.read_bytes())
    assert mjolnir("autoresearch", "chart", "--svg", cwd=place.root).code == 0
    count = len(VERSION_0.read_text().splitlines())
    assert f"oct11: {count} experiments" in said(place.root / "research" / "progress.svg")
