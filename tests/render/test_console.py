"""Errors in two lines on stderr, answers as one JSON object, nothing as markup."""

from __future__ import annotations

import io
import json
import sys

import pytest

from mjolnir.errors import Refused
from mjolnir.render.console import MAX_WIDTH, MIN_WIDTH, error_lines, print_error, print_json, stdout_console


def test_an_error_is_two_lines_and_its_words_are_data(hostile, capsys):
    print_error(Refused("E_DIRTY", f"dirty: {hostile}", "git commit"))
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        "error: dirty: [/=] [bold]x[/] red nul new line RTL | `code` <script>alert(1)</script>",
        "hint: git commit",
    ]


def test_a_hint_is_never_wrapped(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "60")
    print_error(Refused("E_LEDGER", "x", "mv " + "a" * 300))
    assert capsys.readouterr().err.splitlines()[1] == "hint: mv " + "a" * 300


def test_error_lines_without_a_hint_is_one_line():
    assert error_lines(Refused("E_X", "what", "")) == "error: what"


def test_json_is_one_ascii_object_and_what_json_lacks_is_null(capsys):
    print_json({"schema": "x/1", "text": "é\u202e\x1b", "score": float("nan"), "rows": [{"a": float("inf")}]})
    out = capsys.readouterr().out
    assert out.isascii()
    assert out.count("\n") == 1
    assert json.loads(out) == {"schema": "x/1", "text": "é\u202e\x1b", "score": None, "rows": [{"a": None}]}


@pytest.mark.parametrize(("columns", "width"), [("10", MIN_WIDTH), ("100", 100), ("5000", MAX_WIDTH)])
def test_the_width_stays_readable(monkeypatch, columns, width):
    monkeypatch.setenv("COLUMNS", columns)
    assert stdout_console().width == width


def test_no_color_is_obeyed(monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr(sys, "stdout", stream := io.StringIO())
    stdout_console().print("words", style="red")
    assert "31m" not in stream.getvalue()


def test_an_old_terminal_shows_a_question_mark_for_a_glyph_it_lacks(monkeypatch):
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    stdout_console().print("✓ keep")
    sys.stdout.flush()
    assert raw.getvalue() == b"? keep\n"
