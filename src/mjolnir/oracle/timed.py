"""Inputs of the timed calls of one L: no two calls have the same answer, and every answer is known."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from mjolnir.core.cases import Case
from mjolnir.core.workload import PagedDecode
from mjolnir.oracle.codes import Array, draw_gaussian, encode
from mjolnir.oracle.inputs import V_MEAN, Inputs, make_inputs

_MANY_TOKENS = 64.0
"""q is so wide that about this many ordinary tokens share the softmax at any L (n * exp(-deviation^2) of them count):
with equal weights a row's answer would forget its single tokens like 1 / sqrt(n), and a kernel could skip their V."""
_LEAST_DEVIATION = 0.8
_PATCH_PART = 1.0 / 7.0
"""What a patched token weighs against all others together: an eighth of the softmax."""
_LEAST_PATCH_LOGIT = 5.5
"""Of a short row: the patched token has the largest logit there."""
_STRETCH = 1.1
"""q is stretched a little towards the key, and so the others weigh a little more than N(0, deviation) would say."""
_LEAST_MIXED_TOKENS = 16
"""In a shorter row one token is nearly all of the answer, and another K or q alone would not move it."""
_SLICE_PART = 1.0 / 32.0
"""What a patch of a few elements changes of a vector: no word of it, looked at in each call, tells of all changes."""
_KEY = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedInputs:
    """Base inputs and, for each call, a q of its own and one token a row with new K, V or both, in one head or in all.

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
    """(calls, batch, 2, num_kv_heads, head_dim), KV dtype: K and V after the patch, also where it leaves them"""

    @property
    def num_calls(self) -> int:
        return int(self.q.shape[0])


def timed_inputs(workload: PagedDecode, length: int, num_calls: int, rng: np.random.Generator) -> TimedInputs:
    """Draws the inputs of `num_calls` timed calls with workload.batch rows of `length` tokens each.

    The scales are 1 and the pages permuted. q points at the patched token in every head, so that its K and its V
    matter there. What a patch changes is drawn anew for each call (K, V or both; all KV heads or one; whole vectors or
    a few elements): no glance at a part of the cache tells whether it changed. All other tokens give most of the
    output, by a few dozen of them.
    """
    lengths = (length,) * workload.batch
    case = Case(
        family="gauss", lengths_tokens=lengths, workload=workload, table_pages=workload.pages(length), variant="timed"
    )
    shape = (0, workload.batch, workload.num_kv_heads, workload.head_dim)
    none = np.empty((0, workload.batch), np.int64)
    empty = TimedInputs(
        case=case,
        base=make_inputs(case, rng),
        q=encode(np.empty((0, workload.batch, workload.num_q_heads, workload.head_dim)), workload.q_dtype),
        token_index=none,
        page_ids=none,
        slots=none,
        tokens=encode(np.empty((0, workload.batch, 2, *shape[2:])), workload.kv_dtype),
    )
    return extend_timed(empty, num_calls, rng)


def extend_timed(timed: TimedInputs, num_calls: int, rng: np.random.Generator) -> TimedInputs:
    """`timed` with further calls, `num_calls` in all; those that it has stay, and fewer are never taken away."""
    more = num_calls - timed.num_calls
    if more <= 0:
        return timed
    workload, base, length = timed.case.workload, timed.base, timed.case.lengths_tokens[0]
    token_index = _token_indices(length, workload.page_size, (more, workload.batch), rng)
    deviation = math.sqrt(max(_LEAST_DEVIATION**2, math.log(length / _MANY_TOKENS)))
    others = _STRETCH * length * math.exp(deviation**2 / 2)
    logit = max(math.log(others * _PATCH_PART), _LEAST_PATCH_LOGIT)
    shape = (more, workload.batch, workload.num_kv_heads, workload.head_dim)
    keys = draw_gaussian(rng, 0.0, workload.kv_dtype, math.prod(shape)).reshape(shape)
    spike = 1.0 + others / math.exp(logit)
    values = encode(spike * (V_MEAN + rng.standard_normal(shape)), workload.kv_dtype)
    page_ids = base.page_table[np.arange(workload.batch), token_index // workload.page_size].astype(np.int64)
    slots = token_index % workload.page_size
    tokens = np.stack([keys, values], axis=2)
    if length >= _LEAST_MIXED_TOKENS:
        tokens = _mix(timed, page_ids, slots, tokens, rng)
    q = encode(_aligned_q(workload, tokens[:, :, _KEY], base.logit_scale, logit, deviation, rng), workload.q_dtype)
    return replace(
        timed,
        q=np.concatenate([timed.q, q]),
        token_index=np.concatenate([timed.token_index, token_index]),
        page_ids=np.concatenate([timed.page_ids, page_ids]),
        slots=np.concatenate([timed.slots, slots]),
        tokens=np.concatenate([timed.tokens, tokens]),
    )


def _mix(timed: TimedInputs, page_ids: Array, slots: Array, drawn: Array, rng: np.random.Generator) -> Array:
    """What each patched token holds after its patch: `drawn` where the patch changes it, else what was there before,
    after the calls of `timed`."""
    calls, batch, _, num_kv_heads, head_dim = drawn.shape
    tokens = drawn.copy()
    now: dict[tuple[int, int], Array] = {}
    for call in range(timed.num_calls):
        for row in range(batch):
            now[int(timed.page_ids[call, row]), int(timed.slots[call, row])] = timed.tokens[call, row]
    for call in range(calls):
        for row in range(batch):
            place = (int(page_ids[call, row]), int(slots[call, row]))
            before = now.get(place)
            if before is None:
                before = timed.base.kv_cache[place[0], :, :, place[1]]
            keeps = ~_changes(num_kv_heads, head_dim, rng)
            tokens[call, row][keeps] = before[keeps]
            now[place] = tokens[call, row]
    return tokens


def _changes(num_kv_heads: int, head_dim: int, rng: np.random.Generator) -> Array:
    """(2, num_kv_heads, head_dim) bool: which elements of K and V change? Both, K or V alone; in all heads or in one;
    the whole vector or a few elements anywhere in it; never none."""
    parts = ((True, True), (True, False), (False, True))[rng.integers(3)]
    heads = np.ones(num_kv_heads, bool) if rng.integers(2) else np.arange(num_kv_heads) == rng.integers(num_kv_heads)
    elements = np.ones(head_dim, bool)
    if rng.integers(2):
        width = max(1, int(head_dim * _SLICE_PART))
        elements = (np.arange(head_dim) - rng.integers(head_dim - width + 1)) // width == 0
    return np.asarray(np.array(parts)[:, np.newaxis, np.newaxis] & heads[:, np.newaxis] & elements)


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


def _aligned_q(
    workload: PagedDecode, keys: Array, logit_scale: float, logit: float, deviation: float, rng: np.random.Generator
) -> Array:
    """(calls, batch, num_q_heads, head_dim): N(0, deviation) moved along each head's key until its logit is `logit`."""
    # float32 is finer than any q dtype, and the logit is only about what was asked for: the oracle reads the rounded q.
    k = keys.astype(np.float32)[:, :, :, np.newaxis]
    shape = (*keys.shape[:3], workload.group, workload.head_dim)
    q = rng.standard_normal(shape, np.float32) * np.float32(deviation)
    lacking = np.float32(logit / logit_scale) - np.einsum("crhgd,crhud->crhg", q, k)
    q += k * (lacking / np.einsum("crhud,crhud->crhu", k, k))[..., np.newaxis]
    return q.reshape(*keys.shape[:2], workload.num_q_heads, workload.head_dim)
