from __future__ import annotations

import pytest

from mjolnir.core.per_length import divide_per_length, positive_number, read_per_length


def test_three_forms_of_a_key_are_one_length_and_come_out_ascending():
    assert read_per_length({"16K": 3, 4096: 2.0, "128": 1.0}, "per_L") == {128: 1.0, 4096: 2.0, 16384: 3.0}
    assert read_per_length({"4K": 2.0, "4096": 2.0, 4096: 2}, "per_L") == {4096: 2.0}
    assert read_per_length(None, "per_L") == {}


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"4K": 2.0, "4096": 2.1}, "per_L has two different numbers for 4K"),
        ({"4K": "2.0"}, "per_L at 4K is not finite and positive"),
        ({"x" * 99: 2.0}, "per_L has a key 'xxxxxxxxxxxxxxxxxxxx' that is no context length"),
        ({10**5000: 2.0}, "per_L has a key that is no context length"),
        ([2.0], "per_L is no mapping of lengths"),
    ],
)
def test_what_cannot_be_read_is_named(values, words):
    with pytest.raises(ValueError, match=f"^{words}$"):
        read_per_length(values, "per_L")


@pytest.mark.parametrize("value", [True, "1", None, 0, -1.0, float("nan"), float("inf"), 10**400, [1]])
def test_only_finite_numbers_above_zero_are_numbers(value):
    assert positive_number(value) is None


def test_a_quotient_is_taken_where_both_sides_have_the_length():
    assert divide_per_length({128: 3.0, 4096: 1.0}, {128: 2.0, 8192: 1.0}) == {128: 1.5}
