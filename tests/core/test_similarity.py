"""Which hypotheses count as one idea: for a reminder before a measurement."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mjolnir.core.similarity import closeness, essence, is_close, normalise


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Use exp2 instead of exp.", "exp2 instead of exp"),
        ("split the KV loop", "  Split the KV-loop!\n"),
        ("fuse softmax into the loop", "fused the softmax in the loop"),
        ("vectorise the loads", "vectorize loads"),
        ("share each page tile between the heads of a group", "split each page tile between the heads of a group"),
        ("softmax in base 2", "online softmax in base 2 with exp2"),
        ("cast K once per page", "once per page cast K"),
        ("\uff55\uff53\uff45 \ufb01ne tiles", "use fine tiles"),
    ],
)
def test_one_idea_in_other_words_is_close(one, other):
    assert is_close(one, other)
    assert is_close(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("unroll the loop over pages", "prefetch the next page while computing"),
        ("use tile size 64", "use tile size 128"),
        ("larger chunks for BLAS", "softmax in base 2"),
        ("keep K in float32", "skip the mask on full pages"),
        ("", ""),
        ("!!!", "???"),
        ("", "use fine tiles"),
    ],
)
def test_another_idea_is_not(one, other):
    assert not is_close(one, other)


def test_stop_words_and_punctuation_go_unless_nothing_else_is_there():
    assert normalise("Try to use the -- *larger* TILE_size!") == "larger tile size"
    assert normalise("the of and") == "the of and"
    assert normalise("\x00\x1b[31m") == "31m"


def test_equal_after_normalising_is_one():
    assert closeness(essence("Use the tiles."), essence("tiles")) == 1.0


@given(st.text(max_size=60), st.text(max_size=60))
def test_any_two_texts_compare_the_same_either_way(one, other):
    there, back = closeness(essence(one), essence(other)), closeness(essence(other), essence(one))
    assert there == back
    assert 0.0 <= there <= 1.0


@given(st.text(alphabet="abcdef ", min_size=1, max_size=60).filter(str.strip))
def test_a_text_is_close_to_itself(text):
    assert closeness(essence(text), essence(text)) == 1.0


@pytest.mark.parametrize("text", ["a b " * 250_000, "\ufdfa" * 1_000_000, "\x00" * 1_000_000, "e\u0301" * 500_000])
def test_a_text_of_a_megabyte_is_compared_by_its_beginning(text):
    assert len(normalise(text)) <= 400
