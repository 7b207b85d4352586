"""The shipped Triton kernel in the exact interpreter against float64: shapes, layouts, types, refusals."""

from __future__ import annotations

import os
import secrets

import numpy as np
import pytest
from mutant import BF16, FP8, KERNEL

TEXT = KERNEL.read_text()
Q_MAJOR, KV_MAJOR = 6e-3, 4e-2
"""Largest relative L2 error over a whole answer: P in bf16, and P in e4m3."""
ROW_LIMITS = {Q_MAJOR: 1e-2, KV_MAJOR: 4e-2}
LSE_LIMIT = 1e-3
FRESH_RUNS = 20 if os.environ.get("MJOLNIR_PROVE") else 3

SHAPES = {
    "6 heads a KV head": {"heads": (24, 4), "head_dim": 256, "page_size": 128},
    "5 heads on one KV head": {"heads": (5, 1), "head_dim": 128, "page_size": 64},
    "7 heads a KV head": {"heads": (28, 4), "head_dim": 128, "page_size": 16},
    "no groups": {"heads": (8, 8), "head_dim": 256, "page_size": 32},
    "8 heads a KV head": {"heads": (16, 2), "head_dim": 128, "page_size": 128},
    "16 heads a KV head": {"heads": (32, 2), "head_dim": 256, "page_size": 64},
}


def limit(q_dtype, kv_dtype=FP8, page_size=128):
    """fp8 q goes to the tensor cores as it is where the KV is fp8 too and a tile fills a page."""
    return KV_MAJOR if q_dtype == kv_dtype == FP8 and page_size >= 64 else Q_MAJOR


def check(found, limit):
    assert found["whole"] <= limit
    assert found["row"] <= ROW_LIMITS[limit]
    assert found["lse"] is None or found["lse"] <= LSE_LIMIT


@pytest.mark.parametrize("kv_dtype", [FP8, BF16], ids=["fp8_kv", "bf16_kv"])
@pytest.mark.parametrize("q_dtype", [FP8, BF16], ids=["fp8_q", "bf16_q"])
@pytest.mark.parametrize("name", SHAPES)
def test_a_ragged_batch_is_right_in_every_supported_shape_and_type(name, q_dtype, kv_dtype, interpreted):
    shape = SHAPES[name]
    found = interpreted(
        "kernel_shapes:compare", text=TEXT, lengths=(1, 70), q_dtype=q_dtype, kv_dtype=kv_dtype, **shape
    )
    check(found, limit(q_dtype, kv_dtype, shape["page_size"]))


@pytest.mark.parametrize("q_dtype", [FP8, BF16], ids=["fp8_q", "bf16_q"])
@pytest.mark.parametrize("length", [2, 63, 64, 65, 127, 128, 129, 1025])
def test_every_edge_of_tiles_and_pages_is_right(length, q_dtype, interpreted):
    found = interpreted("kernel_shapes:compare", text=TEXT, lengths=(length,), q_dtype=q_dtype, heads=(6, 1))
    check(found, limit(q_dtype))


@pytest.mark.parametrize("padding", ["-1", "any", "poison"])
@pytest.mark.parametrize("q_dtype", [FP8, BF16], ids=["fp8_q", "bf16_q"])
def test_page_tails_spare_pages_and_unused_table_entries_are_never_read(q_dtype, padding, interpreted):
    found = interpreted(
        "kernel_shapes:compare", text=TEXT, lengths=(300, 5), q_dtype=q_dtype, padding=padding, heads=(6, 1)
    )
    check(found, limit(q_dtype))


@pytest.mark.parametrize("layout", ["padded", "tokens first"])
@pytest.mark.parametrize("page_size", [128, 32])
def test_a_cache_that_is_a_strided_view_is_right(layout, page_size, interpreted):
    found = interpreted(
        "kernel_shapes:compare", text=TEXT, lengths=(200, 33), q_dtype=BF16, layout=layout, page_size=page_size
    )
    assert not found["contiguous"]
    check(found, Q_MAJOR)


def test_a_strided_cache_serves_fp8_q_too(interpreted):
    found = interpreted("kernel_shapes:compare", text=TEXT, lengths=(200, 33), q_dtype=FP8, layout="padded")
    assert not found["contiguous"]
    check(found, KV_MAJOR)


@pytest.mark.parametrize("q_dtype", [FP8, BF16], ids=["fp8_q", "bf16_q"])
def test_a_batch_of_more_than_one_wave_takes_one_split_a_sequence(q_dtype, interpreted):
    lengths = tuple(1 + 7 * n % 150 for n in range(41))
    found = interpreted(
        "kernel_shapes:compare", text=TEXT, lengths=lengths, q_dtype=q_dtype, heads=(3, 1), head_dim=128, page_size=64
    )
    check(found, limit(q_dtype))


def test_a_page_table_without_a_spare_column_is_enough(interpreted):
    found = interpreted("kernel_shapes:compare", text=TEXT, lengths=(256, 128), q_dtype=BF16, spare_columns=0)
    check(found, Q_MAJOR)


@pytest.mark.parametrize("q_dtype", [FP8, BF16], ids=["fp8_q", "bf16_q"])
def test_one_token_is_answered_exactly(q_dtype, interpreted):
    out, v = interpreted("kernel_shapes:one_token", text=TEXT, q_dtype=q_dtype)
    assert np.array_equal(out, v)


@pytest.mark.parametrize("q_dtype", [FP8, BF16], ids=["fp8_q", "bf16_q"])
def test_large_logits_neither_overflow_nor_blur_lse(q_dtype, interpreted):
    found = interpreted("kernel_shapes:compare", text=TEXT, lengths=(400, 65), q_dtype=q_dtype, family="large")
    assert found["whole"] <= limit(q_dtype)
    assert found["lse"] <= LSE_LIMIT


def test_the_answer_is_the_same_where_no_lse_is_asked_for(interpreted):
    with_lse, without = (
        interpreted("kernel_shapes:compare", text=TEXT, lengths=(200, 3), q_dtype=BF16, with_lse=asked)
        for asked in (True, False)
    )
    assert without["lse"] is None
    assert with_lse["whole"] == without["whole"]


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"head_dim": 64}, "head_dim 64: 128 and 256"),
        ({"page_size": 24}, "page_size 24: 16, 32, 64 and 128"),
        ({"page_size": 256}, "page_size 256"),
        ({"heads": (24, 5)}, "24 query heads on 5 KV heads"),
        ({"heads": (34, 2)}, "34 query heads on 2 KV heads"),
        ({"q": "float16"}, "q of dtype torch.float16"),
        ({"q": "float8_e5m2"}, "q of dtype torch.float8_e5m2"),
        ({"kv": "float16"}, "kv_cache of dtype torch.float16"),
        ({"strided": "q"}, "q with a last stride of 2"),
        ({"strided": "kv_cache"}, "kv_cache with a last stride of 2"),
        ({"strided": "page_table"}, "page_table with a last stride of 2"),
        ({"strided": "out"}, "out with a last stride of 2"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_an_unsupported_shape_is_named_in_a_not_implemented_error(values, words, interpreted):
    assert words in interpreted("kernel_shapes:refusal", text=TEXT, **values)


@pytest.mark.slow
@pytest.mark.parametrize("q_dtype", [FP8, BF16], ids=["fp8_q", "bf16_q"])
def test_the_check_of_an_evaluation_passes_at_a_small_shape(q_dtype, interpreted):
    seed, shape = secrets.randbelow(1 << 32), {"num_q_heads": 10, "num_kv_heads": 2, "head_dim": 128}
    assert (seed, interpreted("kernel_runs:check", text=TEXT, q_dtype=q_dtype, seed=seed, shape=shape)) == (seed, [])


@pytest.mark.slow
@pytest.mark.parametrize("run", range(FRESH_RUNS))
@pytest.mark.parametrize("q_dtype", [FP8, BF16], ids=["fp8_q", "bf16_q"])
def test_the_check_of_an_evaluation_passes_with_a_fresh_seed(q_dtype, run, interpreted):
    seed = secrets.randbelow(1 << 32)
    assert (seed, interpreted("kernel_runs:check", text=TEXT, q_dtype=q_dtype, seed=seed, fail_fast=False)) == (
        seed,
        [],
    )
