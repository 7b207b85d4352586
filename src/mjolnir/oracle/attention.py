"""The right answer: paged decode attention in float64, a chunk of tokens at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from mjolnir.oracle.change import PageChange
from mjolnir.oracle.codes import decode
from mjolnir.oracle.inputs import K_HALF, V_HALF, Inputs
from mjolnir.oracle.online_softmax import Floats, OnlineSoftmax

_CHUNK_TOKENS = 2048
"""4 MiB of float64 for K at head_dim 256: the working set stays small at any length."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exact:
    """The exact output and what is needed to follow a change of V without starting again."""

    output: Floats
    """(batch, num_q_heads, head_dim)"""
    log_sum: Floats
    """(batch, num_q_heads): natural log of the sum of exp(logit) over the row, the LSE"""
    page_shares: tuple[Floats, ...]
    """one a row, (num_q_heads, pages of the row): the part of a head's softmax that lies in each page, summing to 1"""


def attend(inputs: Inputs) -> Exact:
    """softmax(sm_scale * q_scale * k_scale * q . K^T) . V * v_scale for every row and head, in float64 throughout.

    KV head h serves the q heads h * group to (h + 1) * group - 1. Memory beyond the inputs is about 15 MiB at any
    length. The softmax is the online form: a running maximum m, with sums rescaled by exp(m_old - m_new).
    """
    batch, num_heads, _ = inputs.q.shape
    num_kv_heads = inputs.kv_cache.shape[2]
    output = np.empty(inputs.q.shape, np.float64)
    log_sum = np.empty((batch, num_heads))
    page_shares = []
    for row in range(batch):
        shares = np.empty((num_heads, inputs.row_pages(row).size))
        for kv_head in range(num_kv_heads):
            heads = head_slice(inputs, kv_head)
            output[row, heads], log_sum[row, heads], shares[heads] = _attend_group(inputs, row, kv_head)
        page_shares.append(shares)
    return Exact(output=output, log_sum=log_sum, page_shares=tuple(page_shares))


def attend_changed(inputs: Inputs, exact: Exact, change: PageChange) -> Exact:
    """`exact` after `change`; `inputs` still holds the old page. The weights stay, so only one page's V is weighed."""
    output = exact.output.copy()
    tokens = change.num_tokens
    for kv_head in range(inputs.kv_cache.shape[2]):
        heads = head_slice(inputs, kv_head)
        keys = decode(inputs.kv_cache[change.page_id, K_HALF, kv_head])[:tokens]
        logits = scaled_q(inputs, change.row, kv_head) @ keys.T
        weights = np.exp(logits - exact.log_sum[change.row, heads, np.newaxis])
        old = decode(inputs.kv_cache[change.page_id, V_HALF, kv_head])[:tokens]
        new = decode(change.values[kv_head])[:tokens]
        output[change.row, heads] += weights @ (new - old) * inputs.v_scale
    return replace(exact, output=output)


def head_slice(inputs: Inputs, kv_head: int) -> slice:
    """The q heads that read KV head `kv_head`."""
    group = inputs.q.shape[1] // inputs.kv_cache.shape[2]
    return slice(kv_head * group, (kv_head + 1) * group)


def scaled_q(inputs: Inputs, row: int, kv_head: int) -> Floats:
    """(group, head_dim): q times everything that makes q . k a logit."""
    return inputs.q[row, head_slice(inputs, kv_head)].astype(np.float64) * inputs.logit_scale


def token_chunks(inputs: Inputs, row: int, kv_head: int, most_tokens: int) -> Iterator[tuple[int, Floats, Floats]]:
    """(first token, K, V) over a row in order: K and V are (tokens, head_dim), whole pages but for the last one."""
    page_size, head_dim = inputs.kv_cache.shape[3:]
    pages, length = inputs.row_pages(row), int(inputs.seq_lens[row])
    step = max(1, most_tokens // page_size)
    for start in range(0, pages.size, step):
        ids = pages[start : start + step]
        first = start * page_size
        tokens = min(ids.size * page_size, length - first)
        keys = decode(inputs.kv_cache[ids, K_HALF, kv_head].reshape(-1, head_dim)[:tokens])
        values = decode(inputs.kv_cache[ids, V_HALF, kv_head].reshape(-1, head_dim)[:tokens])
        yield first, keys, values


def _attend_group(inputs: Inputs, row: int, kv_head: int) -> tuple[Floats, Floats, Floats]:
    """Output (group, head_dim), log sum (group,) and page shares (group, pages) of the q heads of one KV head."""
    q = scaled_q(inputs, row, kv_head)
    page_size = inputs.kv_cache.shape[3]
    running = OnlineSoftmax(len(q), inputs.q.shape[2])
    page_log_sums = []
    for _, keys, values in token_chunks(inputs, row, kv_head, _CHUNK_TOKENS):
        weights = running.add(q @ keys.T, values)
        sums = np.add.reduceat(weights, np.arange(0, len(keys), page_size), axis=1)
        with np.errstate(divide="ignore"):  # a page whose weights underflow has no share: log(0) = -inf is right
            page_log_sums.append(np.log(sums) + running.maximum)
    log_sum = running.log_sum()
    shares = np.exp(np.concatenate(page_log_sums, axis=1) - log_sum[:, np.newaxis])
    return running.mean() * inputs.v_scale, log_sum, shares
