"""Timed calls: each has an answer of its own, and no part of the work can be left out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from mjolnir.core.workload import PagedDecode
from mjolnir.oracle.attention import attend
from mjolnir.oracle.codes import DTYPES, bits_of
from mjolnir.oracle.timed import inputs_of_call, patch, timed_inputs
from mjolnir.oracle.timed_attention import attend_timed

LENGTHS = (1, 100, 128, 2048)


def draw(length, q_dtype="bf16", calls=12, batch=2):
    workload = PagedDecode(num_q_heads=8, num_kv_heads=2, head_dim=64, q_dtype=q_dtype, batch=batch)
    return timed_inputs(workload, length, calls, np.random.default_rng(length))


def errors(out, expected):
    """The error of each row and head, relative to the length of its answer."""
    return np.linalg.norm(out - expected, axis=-1) / np.linalg.norm(expected, axis=-1)


def least_error(out, expected):
    """The smallest row error: even the best head of the best row is this far off."""
    return errors(out, expected).min()


def changed_elements(timed, call, half):
    """(batch, q heads) int: how many elements of a head's K (half 0) or V (half 1) the patch of `call` changed."""
    seen = inputs_of_call(timed, call).kv_cache
    before = inputs_of_call(timed, call - 1).kv_cache if call else timed.base.kv_cache
    differs = bits_of(seen)[timed.page_ids[call], half, :, timed.slots[call]]
    differs = (differs != bits_of(before)[timed.page_ids[call], half, :, timed.slots[call]]).sum(axis=-1)
    return np.repeat(differs, timed.q.shape[2] // differs.shape[1], axis=1)


def changed_heads(timed, call, half):
    """(batch, q heads) bool: whose K (half 0) or V (half 1) the patch of `call` changed."""
    return changed_elements(timed, call, half) > 0


def befores(timed, half):
    """K or V (kv heads, head_dim) of row 0's patched token before each call."""
    for call in range(timed.num_calls):
        cache = inputs_of_call(timed, call - 1).kv_cache if call else timed.base.kv_cache
        yield cache[timed.page_ids[call, 0], half, :, timed.slots[call, 0]]


@pytest.mark.parametrize("q_dtype", sorted(DTYPES))
@pytest.mark.parametrize("length", LENGTHS)
def test_no_call_has_the_answer_of_another(length, q_dtype):
    timed = draw(length, q_dtype)
    expected = attend_timed(timed)
    for one in range(timed.num_calls):
        for other in range(one):
            assert errors(expected[other], expected[one]).max() > 3 * timed.case.limit


@pytest.mark.parametrize("half", [0, 1], ids=["K", "V"])
@pytest.mark.parametrize("length", LENGTHS[1:])
def test_k_or_v_of_before_the_patch_gives_a_wrong_answer(length, half):
    """In every head where the whole vector changed; in some head of the row where a few elements did."""
    timed = draw(length, calls=24)
    expected = attend_timed(timed)
    met = {True: 0, False: 0}
    for call in range(timed.num_calls):
        seen = inputs_of_call(timed, call)
        before = inputs_of_call(timed, call - 1) if call else timed.base
        cache = seen.kv_cache.copy()
        cache[:, half] = before.kv_cache[:, half]
        off = errors(attend(replace(seen, kv_cache=cache)).output, expected[call])
        for row, elements in enumerate(changed_elements(timed, call, half)):
            is_whole = elements.max() > timed.q.shape[3] / 2
            met[is_whole] += int((elements > 0).any())
            if elements.any():
                least = off[row, elements > 0].min() if is_whole else off[row].max()
                assert least > (2.0 if is_whole else 1.5) * timed.case.limit
    assert min(met.values()) >= 4


def test_no_word_of_a_vector_changes_whenever_the_vector_does():
    timed = draw(128, calls=80, batch=1)
    for half in (0, 1):
        patched = [(bits_of(t[0, half]), bits_of(b)) for t, b in zip(timed.tokens, befores(timed, half), strict=True)]
        differs = np.array([(new != old).any(axis=0) for new, old in patched])
        few = differs[(differs.sum(axis=1) > 0) & (differs.sum(axis=1) < timed.q.shape[3] / 4)]
        assert len(few) >= 10
        assert (few.mean(axis=0) < 0.5).all()


def test_what_a_patch_changes_varies_so_that_no_glance_at_a_part_tells():
    timed = draw(128, calls=60, batch=1)
    kinds = {(changed_heads(timed, c, 0).sum(), changed_heads(timed, c, 1).sum()) for c in range(timed.num_calls)}
    assert kinds == {(8, 8), (8, 0), (0, 8), (4, 4), (4, 0), (0, 4)}


@pytest.mark.parametrize("length", [2048, 16384])
def test_the_v_of_ordinary_tokens_cannot_be_replaced_by_its_mean(length):
    timed = draw(length, calls=3, batch=1)
    expected = attend_timed(timed)
    seen = inputs_of_call(timed, 2)
    cache = seen.kv_cache.astype(np.float32)
    place = (timed.page_ids[2], 1, slice(None), timed.slots[2])
    kept = cache[place].copy()
    cache[:, 1] = np.where(np.isnan(cache[:, 1]), cache[:, 1], np.nanmean(cache[:, 1], axis=(0, 2), keepdims=True))
    cache[place] = kept
    skipping = replace(seen, kv_cache=cache.astype(seen.kv_cache.dtype))
    assert errors(attend(skipping).output, expected[2]).max() > 3 * timed.case.limit


@pytest.mark.parametrize("q_dtype", sorted(DTYPES))
@pytest.mark.parametrize("length", LENGTHS[1:])
def test_neither_the_patched_token_nor_the_others_can_be_left_out(length, q_dtype):
    timed = draw(length, q_dtype, batch=1)
    expected = attend_timed(timed)
    seen = inputs_of_call(timed, 3)
    place = (timed.page_ids[3], 1, slice(None), timed.slots[3])
    for alone in (False, True):
        cache = seen.kv_cache.copy()
        kept = cache[place].copy()
        cache[np.isfinite(cache.astype(np.float32)) & alone] = 0
        cache[:, 0] = seen.kv_cache[:, 0]
        cache[place] = kept if alone else 0
        assert least_error(attend(replace(seen, kv_cache=cache)).output, expected[3]) > 1.5 * timed.case.limit


def test_a_patch_touches_one_token_a_row_and_stays():
    timed = draw(100)
    cache = timed.base.kv_cache.copy()
    for call in range(timed.num_calls):
        before = cache.copy()
        patch(cache, timed, call)
        changed = (bits_of(before) != bits_of(cache)).any(axis=(1, 2, 4))
        assert set(zip(*np.nonzero(changed), strict=True)) == set(
            zip(timed.page_ids[call], timed.slots[call], strict=True)
        )
    assert np.array_equal(bits_of(cache), bits_of(inputs_of_call(timed, timed.num_calls - 1).kv_cache))
