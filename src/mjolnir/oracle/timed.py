"""Inputs of the timed calls of one L: no two calls have the same answer, and every answer is known."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from mjolnir.core.cases import Case
from mjolnir.core.workload import PagedDecode
from mjolnir.oracle.codes import Array, draw_gaussian, encode
from mjolnir.oracle.inputs import V_MEAN, Inputs, make_inputs

_PATCH_LOGIT = -1.3
_LEAST_PATCH_LOGIT = 5.5
"""A patched token's logit is ln(n) - 1.3, or 5.5 in a short row: an eighth of the softmax of a long row, and always the
largest logit. Both are for kernels that are allowed to hold their weights as scaled fp8: a larger part would put the
others' weights below 1/448/512 of the largest in a row of 256K tokens, and only the largest weight is held exactly."""
_OTHERS_SUM = 1.8
"""exp(logit) of an ordinary token, in the mean: e^0.5, and more because q is stretched a little towards the key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedInputs:
    """Base inputs and, for each call, a q of its own and one token a row with new K and V.

    Before call c: kv_cache[page_ids[c], :, :, slots[c]] = tokens[c] and q is q[c]; patches stay in place, so the order
    of the calls is part of the right answer. All else of `base` stays; base.q is not used.
    """

    case: Case
    """For `check_output`: shapes and limit."""
    base: Inputs
    q: Array
    """(calls, batch, num_q_heads, head_dim), q dtype"""
    token_index: Array
    """(calls, batch) int64: the patched token's place in its row"""
    page_ids: Array
    """(calls, batch) int64"""
    slots: Array
    """(calls, batch) int64"""
    tokens: Array
    """(calls, batch, 2, num_kv_heads, head_dim), KV dtype: the new K and V"""

    @property
    def num_calls(self) -> int:
        return int(self.q.shape[0])


def timed_inputs(workload: PagedDecode, length: int, num_calls: int, rng: np.random.Generator) -> TimedInputs:
    """Draws the inputs of `num_calls` timed calls with workload.batch rows of `length` tokens each.

    The scales are 1 and the pages permuted. In every head of every call the token that was patched just before gives
    the output one vector of V's usual length, all others give the rest: whatever misses either is wrong by far.
    """
    pages = workload.pages(length)
    lengths = (length,) * workload.batch
    case = Case(family="gauss", lengths_tokens=lengths, workload=workload, table_pages=pages, variant="timed")
    base = make_inputs(case, rng)
    token_index = _token_indices(length, workload.page_size, (num_calls, workload.batch), rng)
    shape = (num_calls, workload.batch, workload.num_kv_heads, workload.head_dim)
    keys = draw_gaussian(rng, 0.0, workload.kv_dtype, math.prod(shape)).reshape(shape)
    logit = max(math.log(length) + _PATCH_LOGIT, _LEAST_PATCH_LOGIT)
    spike = 1.0 + _OTHERS_SUM * length / math.exp(logit)
    values = encode(spike * (V_MEAN + rng.standard_normal(shape)), workload.kv_dtype)
    q = _aligned_q(workload, keys, base.logit_scale, logit, rng)
    rows = np.arange(workload.batch)
    return TimedInputs(
        case=case,
        base=base,
        q=encode(q, workload.q_dtype),
        token_index=token_index,
        page_ids=base.page_table[rows, token_index // workload.page_size].astype(np.int64),
        slots=token_index % workload.page_size,
        tokens=np.stack([keys, values], axis=2),
    )


def patch(kv_cache: Array, timed: TimedInputs, call: int) -> None:
    """Puts the patch of call `call` (counted from 0) in place."""
    kv_cache[timed.page_ids[call], :, :, timed.slots[call]] = timed.tokens[call]


def inputs_of_call(timed: TimedInputs, call: int) -> Inputs:
    """What `decode` sees in call `call`, as a copy with all patches up to it in place. Slow; for tests and reports."""
    cache = timed.base.kv_cache.copy()
    for earlier in range(call + 1):
        patch(cache, timed, earlier)
    return replace(timed.base, q=timed.q[call], kv_cache=cache)


def _token_indices(length: int, page_size: int, shape: tuple[int, int], rng: np.random.Generator) -> Array:
    """One token a call and row: anywhere, and in a quarter of the calls at an end, the middle or a page edge."""
    anywhere = rng.integers(0, length, shape)
    edges = np.minimum(anywhere // page_size * page_size, length - 1)
    special = np.stack([np.zeros_like(edges), np.full_like(edges, length - 1), np.full_like(edges, length // 2), edges])
    chosen = np.take_along_axis(special, rng.integers(0, len(special), (1, *shape)), axis=0)[0]
    return np.where(rng.random(shape) < 0.25, chosen, anywhere)


def _aligned_q(workload: PagedDecode, keys: Array, logit_scale: float, logit: float, rng: np.random.Generator) -> Array:
    """(calls, batch, num_q_heads, head_dim): N(0, 1) moved along each head's key until its logit is `logit`."""
    k = np.repeat(keys.astype(np.float64), workload.group, axis=2)
    q = rng.standard_normal(k.shape)
    lacking = logit / logit_scale - np.sum(q * k, axis=-1, keepdims=True)
    return np.asarray(q + k * lacking / np.sum(k * k, axis=-1, keepdims=True))
