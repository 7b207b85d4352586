"""The oracle against the definition, written as loops over single numbers."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from tiny import tiny_case, tiny_workload

from mjolnir.core.cases import FAMILIES, Scales
from mjolnir.oracle.attention import attend, attend_changed
from mjolnir.oracle.change import apply_change, change_page
from mjolnir.oracle.inputs import make_inputs
from mjolnir.oracle.timed import inputs_of_call, timed_inputs
from mjolnir.oracle.timed_attention import attend_timed

SHAPES = [
    {},
    {"kv_dtype": "bf16"},
    {"q_dtype": "fp8_e4m3"},
    {"num_q_heads": 3, "num_kv_heads": 3},
    {"head_dim": 5, "page_size": 3},
    {"page_size": 1},
    {"num_q_heads": 6, "num_kv_heads": 1},
]


def brute_force(inputs):
    """out[b, h] = softmax(scale * q[b, h] . K^T) . V * v_scale, one token and one element at a time."""
    batch, num_heads, head_dim = inputs.q.shape
    _, _, num_kv_heads, page_size, _ = inputs.kv_cache.shape
    scale = inputs.sm_scale * inputs.q_scale * inputs.k_scale
    out = np.empty(inputs.q.shape)
    for b in range(batch):
        for h in range(num_heads):
            g = h // (num_heads // num_kv_heads)
            logits, vectors = [], []
            for t in range(int(inputs.seq_lens[b])):
                page, slot = int(inputs.page_table[b, t // page_size]), t % page_size
                products = [
                    float(inputs.q[b, h, d]) * float(inputs.kv_cache[page, 0, g, slot, d]) for d in range(head_dim)
                ]
                logits.append(scale * math.fsum(products))
                vectors.append([float(inputs.kv_cache[page, 1, g, slot, d]) for d in range(head_dim)])
            top = max(logits)
            weights = [math.exp(x - top) for x in logits]
            for d in range(head_dim):
                total = math.fsum(w * v[d] for w, v in zip(weights, vectors, strict=True))
                out[b, h, d] = total / math.fsum(weights) * inputs.v_scale
    return out


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_oracle_is_the_definition(family, shape):
    case = tiny_case(family, scales=Scales(q=0.37, k=1.9, v=0.5), sm_factor=0.7, shape=shape)
    inputs = make_inputs(case, np.random.default_rng(1))
    np.testing.assert_allclose(attend(inputs).output, brute_force(inputs), rtol=1e-9, atol=1e-12)


def test_chunks_and_pages_do_not_show_in_the_answer():
    shape = {"num_q_heads": 2, "num_kv_heads": 1, "head_dim": 8}
    case = tiny_case("temperature3", (5000,), shape={**shape, "page_size": 7})
    inputs = make_inputs(case, np.random.default_rng(2))
    exact = attend(inputs)
    np.testing.assert_allclose(exact.output, brute_force(inputs), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(exact.page_shares[0].sum(axis=1), 1.0, rtol=1e-12)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_changed_page_is_followed_as_if_all_were_computed_anew(family):
    rng = np.random.default_rng(3)
    inputs = make_inputs(tiny_case(family), rng)
    exact = attend(inputs)
    for _ in range(4):
        change = change_page(inputs, exact, family, rng)
        exact = attend_changed(inputs, exact, change)
        apply_change(inputs.kv_cache, change)
        np.testing.assert_allclose(exact.output, brute_force(inputs), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    "shape", [{}, {"kv_dtype": "bf16"}, {"head_dim": 5, "page_size": 3}, {"page_size": 1}], ids=str
)
@pytest.mark.parametrize(("length", "calls"), [(1, 3), (5, 12), (40, 9)])
def test_every_timed_answer_is_the_definition_with_all_patches_up_to_it(shape, length, calls):
    timed = timed_inputs(tiny_workload(batch=2, **shape), length, calls, np.random.default_rng(4))
    expected = attend_timed(timed)
    for call in range(calls):
        np.testing.assert_allclose(expected[call], brute_force(inputs_of_call(timed, call)), rtol=1e-9, atol=1e-12)


def test_many_timed_calls_agree_with_one_exact_pass_each():
    workload = replace(tiny_workload(), page_size=32)
    timed = timed_inputs(workload, 700, 150, np.random.default_rng(5))
    expected = attend_timed(timed)
    for call in (0, 63, 64, 149):
        exact = attend(inputs_of_call(timed, call))
        np.testing.assert_allclose(expected[call], exact.output, rtol=1e-9, atol=1e-12)
