"""What an experimenter says is kept as it came."""

from __future__ import annotations

import pytest

from mjolnir.errors import UsageFault
from mjolnir.loop.words import make_words


def test_sources_are_split_at_their_commas():
    assert make_words("x", sources=" https://a/1,, https://b/2 ,").sources == ("https://a/1", "https://b/2")
    assert make_words("x").sources == ()


@pytest.mark.parametrize("text", ["", " ", "\n\t"])
def test_a_hypothesis_says_something(text):
    with pytest.raises(UsageFault):
        make_words(text)


@pytest.mark.parametrize("text", ["a\0b", "\x1b[31m", " leading and trailing ", "速い 🚀", "x" * 2_000_000])
def test_any_unicode_comes_back_the_same(text):
    assert make_words(text).hypothesis == text


def test_bytes_that_are_no_utf8_are_replaced():
    assert make_words("caf\udce9 \udcc3\udca9").hypothesis == "caf\ufffd é"
    assert make_words("half \ud83d pair").hypothesis == "half ? pair"
