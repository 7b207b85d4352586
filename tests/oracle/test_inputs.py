"""What a kernel is given: contract shapes, poison where nothing may be read, and families that do what they are for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny import tiny_case

from mjolnir.core.cases import FAMILIES, Padding, Scales
from mjolnir.core.workload import PagedDecode
from mjolnir.oracle.attention import attend
from mjolnir.oracle.codes import DTYPES, bits_of, decode, draw_gaussian, encode
from mjolnir.oracle.inputs import make_inputs
from mjolnir.oracle.trial import make_trial

ROOMY = {"num_q_heads": 8, "num_kv_heads": 2, "head_dim": 64, "page_size": 16}


def draw(case, seed=0):
    return make_inputs(case, np.random.default_rng(seed))


@given(
    family=st.sampled_from(FAMILIES),
    lengths=st.lists(st.integers(1, 40), min_size=1, max_size=4),
    page_size=st.integers(1, 9),
    padding=st.sampled_from(Padding),
    dtypes=st.tuples(st.sampled_from(sorted(DTYPES)), st.sampled_from(sorted(DTYPES))),
    spare_pages=st.integers(1, 3),
)
@settings(max_examples=60, deadline=None)
def test_shapes_dtypes_poison_and_table_are_as_in_the_contract(
    family, lengths, page_size, padding, dtypes, spare_pages
):
    shape = {"page_size": page_size, "kv_dtype": dtypes[0], "q_dtype": dtypes[1]}
    case = tiny_case(family, tuple(lengths), shape=shape, padding=padding, spare_pages=spare_pages)
    inputs, w = draw(case), case.workload
    assert inputs.q.shape == (len(lengths), w.num_q_heads, w.head_dim)
    assert inputs.q.dtype == DTYPES[w.q_dtype]
    assert inputs.kv_cache.shape == (case.num_pages, 2, w.num_kv_heads, page_size, w.head_dim)
    assert inputs.kv_cache.dtype == DTYPES[w.kv_dtype]
    assert inputs.kv_cache.flags.c_contiguous
    assert inputs.page_table.dtype == inputs.seq_lens.dtype == np.int32
    assert inputs.page_table.shape == (len(lengths), case.table_pages)
    assert list(inputs.seq_lens) == lengths
    is_read = np.zeros((case.num_pages, page_size), bool)
    for row, length in enumerate(lengths):
        for t in range(length):
            page, slot = inputs.page_table[row, t // page_size], t % page_size
            assert not is_read[page, slot], "no page serves two rows"
            is_read[page, slot] = True
    is_nan = np.isnan(inputs.kv_cache.astype(np.float32))
    assert not is_nan.transpose(0, 3, 1, 2, 4)[is_read].any()
    assert is_nan.transpose(0, 3, 1, 2, 4)[~is_read].all()
    for row, length in enumerate(lengths):
        unused = inputs.page_table[row, w.pages(length) :]
        if padding is Padding.MINUS_ONE:
            assert (unused == -1).all()
        else:
            assert is_read[unused].any(axis=1).all() == (padding is Padding.ANY_PAGE)


def test_one_seed_gives_one_set_of_inputs_and_another_seed_another():
    case = tiny_case("needle")
    first, again, other = draw(case, 1), draw(case, 1), draw(case, 2)
    assert np.array_equal(bits_of(first.kv_cache), bits_of(again.kv_cache))
    assert np.array_equal(first.page_table, again.page_table)
    assert not np.array_equal(bits_of(first.q), bits_of(other.q))


def test_a_case_has_the_same_trial_whatever_else_is_planned():
    case = tiny_case("gauss")
    first, again = make_trial(case, 7), make_trial(case, 7)
    assert np.array_equal(first.calls[1].expected, again.calls[1].expected)
    elsewhere = make_trial(replace(case, variant="elsewhere"), 7)
    assert not np.array_equal(first.calls[0].expected, elsewhere.calls[0].expected)


def test_pages_lie_in_another_order_than_the_tokens():
    inputs = draw(tiny_case("gauss", (64,), shape=ROOMY | {"page_size": 2}))
    assert not np.array_equal(np.sort(inputs.row_pages(0)), inputs.row_pages(0))
    ordered = draw(tiny_case("gauss", (64,), is_permuted=False, shape=ROOMY | {"page_size": 2}))
    assert np.array_equal(ordered.row_pages(0), np.arange(32))


@pytest.mark.parametrize(("family", "deviation"), [("gauss", 1), ("temperature3", 3), ("large", 40)])
@pytest.mark.parametrize("scales", [Scales(), Scales(q=0.37, k=0.37, v=1.9)], ids=str)
@pytest.mark.parametrize("q_dtype", sorted(DTYPES))
def test_logits_spread_as_the_family_says_however_the_scales_split_them(family, deviation, scales, q_dtype):
    case = tiny_case(family, (512,), scales=scales, sm_factor=0.7, shape=ROOMY | {"q_dtype": q_dtype})
    inputs = draw(case)
    assert np.isfinite(inputs.q.astype(np.float32)).all()
    keys = inputs.kv_cache[inputs.row_pages(0), 0, 0].astype(np.float64).reshape(-1, 64)
    logits = inputs.logit_scale * keys @ inputs.q[0, 0].astype(np.float64)
    assert 0.7 * deviation < logits.std() < 1.4 * deviation


def test_every_head_rests_on_needles_and_they_cover_ends_middle_and_page_edges():
    lengths = (333,)
    inputs = draw(tiny_case("needle", lengths, shape=ROOMY))
    flat = inputs.kv_cache[inputs.row_pages(0), 0].astype(np.float64).transpose(1, 0, 2, 3).reshape(2, -1, 64)[:, :333]
    heaviest = set()
    for head in range(8):
        logits = inputs.logit_scale * flat[head // 4] @ inputs.q[0, head].astype(np.float64)
        weights = np.exp(logits - logits.max())
        weights /= weights.sum()
        is_needle = weights > 0.1
        assert weights[is_needle].sum() > 0.8
        heaviest |= set(np.flatnonzero(is_needle))
    assert {0, 332, 331, 166} <= heaviest
    assert any(t % 16 == 15 and t + 1 in heaviest for t in heaviest)


def test_hist_counts_the_tokens_of_each_page():
    inputs = draw(tiny_case("hist", (333,), shape=ROOMY))
    output = attend(inputs).output[0]
    for head in range(8):
        shares = np.sort(output[head][output[head] > 1e-9])
        np.testing.assert_allclose(shares, np.sort([16 / 333] * 20 + [13 / 333]), rtol=1e-9)


def test_an_all_zero_answer_is_far_off_even_on_a_long_row():
    inputs = draw(tiny_case("gauss", (4096,), shape=ROOMY))
    assert np.linalg.norm(attend(inputs).output, axis=-1).min() > 0.4 * 8


@pytest.mark.parametrize("name", sorted(DTYPES))
def test_draws_have_the_mean_deviation_and_tails_of_a_gaussian(name):
    values = draw_gaussian(np.random.default_rng(3), 0.5, name, 200_001).astype(np.float64)
    assert values.shape == (200_001,)
    assert abs(values.mean() - 0.5) < 0.01
    assert abs(values.std() - 1.0) < 0.01
    assert abs((np.abs(values - 0.5) > 2).mean() - 0.0455) < 0.01  # fp8 has steps of 0.25 at 2.5
    assert np.abs(values - 0.5).max() > 3.9


def test_every_fp8_code_decodes_to_its_own_value():
    codes = np.arange(256, dtype=np.uint8).view(DTYPES["fp8_e4m3"]).reshape(16, 16)
    np.testing.assert_array_equal(decode(codes), codes.astype(np.float64))
    np.testing.assert_array_equal(decode(codes[:, ::3]), codes[:, ::3].astype(np.float64))


def test_what_fp8_cannot_hold_is_cut_off_rather_than_nan():
    assert encode(np.array([1e6, -1e6, 448.0]), "fp8_e4m3").astype(float).tolist() == [448.0, -448.0, 448.0]


def test_the_configured_shape_is_drawn_in_full():
    workload = PagedDecode()
    inputs = draw(tiny_case("gauss", (1000,), shape=dict(num_q_heads=24, num_kv_heads=4, head_dim=256, page_size=128)))
    assert inputs.kv_cache.shape[1:] == (2, workload.num_kv_heads, workload.page_size, workload.head_dim)
    values = inputs.kv_cache[inputs.row_pages(0)[:-1]].astype(np.float64)
    assert abs(values[:, 0].mean()) < 0.01
    assert abs(values[:, 1].mean() - 0.5) < 0.01
