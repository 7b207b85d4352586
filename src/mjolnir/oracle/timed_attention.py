"""The right answers of all timed calls of one L, for about one pass over the cache."""

from __future__ import annotations

import numpy as np

from mjolnir.oracle.attention import head_slice, token_chunks
from mjolnir.oracle.codes import Array, decode
from mjolnir.oracle.inputs import K_HALF, V_HALF
from mjolnir.oracle.online_softmax import Floats, OnlineSoftmax
from mjolnir.oracle.timed import TimedInputs

_BLOCK_CALLS = 64
"""Calls whose logits are held at once: 64 * group rows of a chunk."""
_CHUNK_ELEMENTS = 1 << 19
_LEAST_CHUNK_TOKENS = 256


def attend_timed(timed: TimedInputs) -> Floats:
    """(calls, batch, num_q_heads, head_dim): the exact output of each call, patches up to it in place; float64.

    Tokens that no call patches are one matrix product for all calls. The patched ones are few: each has a list of
    versions (as drawn, and after each patch), and a call weighs the version it sees.
    """
    output = np.empty(timed.q.shape, np.float64)
    for row in range(timed.q.shape[1]):
        patched = np.unique(timed.token_index[:, row])
        versions = _versions(timed, row, patched)
        for kv_head in range(timed.base.kv_cache.shape[2]):
            heads = head_slice(timed.base, kv_head)
            for start in range(0, timed.num_calls, _BLOCK_CALLS):
                calls = slice(start, start + _BLOCK_CALLS)
                q = timed.q[calls, row, heads].astype(np.float64) * timed.base.logit_scale
                running = OnlineSoftmax(q.shape[0] * q.shape[1], q.shape[2])
                _add_patched(running, timed, row, kv_head, patched, versions[calls], q)
                _add_others(running, timed, row, kv_head, patched, q.reshape(-1, q.shape[2]))
                output[calls, row, heads] = running.mean().reshape(q.shape) * timed.base.v_scale
    return output


def _versions(timed: TimedInputs, row: int, patched: Array) -> Array:
    """(calls, patched tokens): the vector that a call sees; i < len(patched): as drawn, else patch i - len(patched)."""
    versions = np.tile(np.arange(patched.size), (timed.num_calls, 1))
    place = np.searchsorted(patched, timed.token_index[:, row])
    for call in range(timed.num_calls):
        versions[call:, place[call]] = patched.size + call
    return versions


def _add_patched(
    running: OnlineSoftmax, timed: TimedInputs, row: int, kv_head: int, patched: Array, versions: Array, q: Floats
) -> None:
    """The tokens that some call patches, each in the version that its call sees. q is (calls, group, head_dim).

    Only the versions that these calls see are weighed: of a short L there are thousands, and a block sees few.
    """
    page_size = timed.base.kv_cache.shape[3]
    pages = timed.base.row_pages(row)[patched // page_size]
    drawn = timed.base.kv_cache[pages, :, kv_head, patched % page_size]
    found, place = np.unique(versions, return_inverse=True)
    vectors = np.concatenate([drawn, timed.tokens[:, row, :, kv_head]])[found]
    keys, values = decode(vectors[:, K_HALF]), decode(vectors[:, V_HALF])
    logits = q @ keys.T
    is_seen = np.zeros((len(versions), 1, len(vectors)), bool)
    np.put_along_axis(is_seen, place.reshape(len(versions), 1, -1), True, axis=2)
    seen = np.where(is_seen, logits, -np.inf)
    running.add(seen.reshape(-1, len(vectors)), values)


def _add_others(running: OnlineSoftmax, timed: TimedInputs, row: int, kv_head: int, patched: Array, q: Floats) -> None:
    """The tokens that stay as they were drawn. q is (calls * group, head_dim)."""
    most_tokens = max(_LEAST_CHUNK_TOKENS, _CHUNK_ELEMENTS // len(q))
    for first, keys, values in token_chunks(timed.base, row, kv_head, most_tokens):
        logits = q @ keys.T
        inside = patched[(patched >= first) & (patched < first + len(keys))]
        logits[:, inside - first] = -np.inf
        running.add(logits, values)
