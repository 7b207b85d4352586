"""Right, wrong, not written, not a number: four answers that are never mixed up."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny import tiny_case

from mjolnir.oracle.check import OUT_FILL_BITS, check_output
from mjolnir.oracle.codes import DTYPES, bits_of
from mjolnir.oracle.trial import make_trial

CASE = tiny_case("gauss")
EXPECTED = make_trial(CASE, 1).calls[0].expected


def rounded(values):
    return values.astype(np.float32).astype(DTYPES["bf16"])


@pytest.mark.parametrize("family", ["gauss", "hist", "large"])
def test_the_exact_answer_rounded_to_bf16_passes(family):
    case = tiny_case(family)
    expected = make_trial(case, 2).calls[0].expected
    result = check_output(rounded(expected), expected, case)
    assert result.passed
    assert result.error < 0.5 * result.limit == 0.5 * case.limit
    assert result.detail == ""


def test_raw_bits_are_taken_as_well():
    assert check_output(bits_of(rounded(EXPECTED)), EXPECTED, CASE).passed


@given(part=st.floats(0.0, 0.2), row=st.integers(0, 2), head=st.integers(0, 3))
@settings(max_examples=80, deadline=None)
def test_one_row_too_far_off_fails_the_case_however_right_the_others_are(part, row, head):
    out = EXPECTED.copy()
    out[row, head] *= 1 + part
    result = check_output(rounded(out), EXPECTED, CASE)
    if part > CASE.limit + 0.004:
        assert not result.passed
        assert f"row {row} head {head}" in result.detail
    if part < CASE.limit - 0.004:
        assert result.passed
    assert result.error == pytest.approx(part, abs=0.004)


def test_filling_left_anywhere_is_unwritten_and_has_no_error_figure():
    out = rounded(EXPECTED)
    bits_of(out)[2, 1, 7] = OUT_FILL_BITS
    result = check_output(out, EXPECTED, CASE)
    assert (result.passed, result.unwritten, result.error) == (False, 1, None)
    assert "row 2 head 1 element 7" in result.detail


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_computed_nan_or_inf_is_a_wrong_answer_not_an_unwritten_one(value):
    out = EXPECTED.copy()
    out[1, 2, 3] = value
    result = check_output(rounded(out), EXPECTED, CASE)
    assert (result.passed, result.unwritten, result.error) == (False, 0, None)
    assert "row 1 head 2 element 3" in result.detail


def test_arithmetic_on_the_filling_does_not_give_the_filling():
    filling = np.full(4, OUT_FILL_BITS, np.uint16).view(DTYPES["bf16"])
    with np.errstate(invalid="ignore"):
        for value in (filling + 1, filling * 0, filling.astype(np.float32).astype(np.float64).astype(DTYPES["bf16"])):
            assert (bits_of(np.asarray(value, DTYPES["bf16"])) != OUT_FILL_BITS).all()


def test_hist_sees_one_small_page_that_the_row_error_does_not():
    case = tiny_case("hist", (400,), shape={"head_dim": 16, "page_size": 1})
    expected = make_trial(case, 3).calls[0].expected
    out = expected.copy()
    out[0, 0, 5] *= 0.97
    result = check_output(rounded(out), expected, case)
    assert not result.passed
    assert result.error < case.limit
    assert "element 5" in result.detail


def test_another_shape_or_type_is_an_error_of_the_harness():
    with pytest.raises(ValueError, match="not bfloat16"):
        check_output(rounded(EXPECTED[:2]), EXPECTED, CASE)
    with pytest.raises(ValueError, match="float32"):
        check_output(EXPECTED.astype(np.float32), EXPECTED, CASE)
