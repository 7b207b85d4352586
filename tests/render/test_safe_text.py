"""Foreign text is data: nothing in it reaches a terminal as a command or hides from a reader."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mjolnir.render.text import clean, one_line, whole


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x9b31mred", "red"),
        ("\x1b]0;new title\x07text", "text"),
        ("\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b]0;never ended", "0;never ended"),
        ("\x1b(Bplain\x1bc", "plain"),
        ("a\x00b\x07c\x08d\x7fe", "abcde"),
        ("abc\u202edef\u2066ghi\u2069", "abcdefghi"),
        ("in\u200bvis\ufeffible\U000e0041", "invisible"),
        ("one\r\ntwo\rthree\u2028four", "one\ntwo\nthree\nfour"),
        ("half \ud800 pair", "half \ufffd pair"),
        ("שלום عالم 中文 naïve 🚀", "שלום عالم 中文 naïve 🚀"),
    ],
)
def test_what_would_command_or_hide_is_removed_and_the_words_stay(text, shown):
    assert clean(text) == shown


@given(st.text(alphabet=st.characters(codec=None, exclude_categories=[])))
def test_nothing_but_letters_blanks_and_newlines_is_left(text):
    for character in clean(text):
        assert character in "\n\t" or unicodedata.category(character) not in ("Cc", "Cs")


@given(st.text(max_size=300), st.integers(min_value=2, max_value=40))
def test_a_line_is_one_line_of_at_most_its_limit(text, limit):
    line = one_line(text, limit)
    assert len(line) <= limit
    assert len(line.splitlines()) <= 1


def test_a_line_that_was_cut_says_so():
    assert one_line("a" * 50, 10) == "a" * 9 + "…"
    assert one_line("x" + " " * 1_000_000 + "y", 10).endswith("…")


def test_a_megabyte_of_open_escapes_is_cleaned_in_one_pass():
    assert clean("\x1b]" * 500_000) == ""


def test_a_long_text_says_how_much_is_left_out():
    assert whole("one\ntwo" + "x" * 100, 7) == "one\ntwo\n[100 more characters]"
