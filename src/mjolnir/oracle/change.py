"""One page's V changed and all else identical: what a result kept from an earlier call does not survive."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mjolnir.oracle.codes import Array, draw_gaussian, encode
from mjolnir.oracle.inputs import K_HALF, V_HALF, V_MEAN, Inputs

if TYPE_CHECKING:
    from mjolnir.oracle.attention import Exact

_WANTED_SHIFT = 0.5
"""How far the answer is to move, as a part of its length: ten times the loosest limit."""
_SLICES = 32
"""A few elements: this part of a vector."""
_FARTHEST = 400.0
"""fp8 holds 448."""
_LARGEST_GAIN = 100.0
"""fp8 holds 448: four deviations of a direction that is made this much longer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageChange:
    """The new V of one page. To be put in place with kv_cache[page_id, 1] = values."""

    page_id: int
    row: int
    """The row that uses the page."""
    page_index: int
    """Which of the row's pages it is."""
    num_tokens: int
    """Tokens of the page that the row uses; the slots after them stay NaN."""
    values: Array
    """(num_kv_heads, page_size, head_dim), KV dtype"""


def change_page(inputs: Inputs, exact: Exact, family: str, rng: np.random.Generator) -> PageChange:
    """New V for a page that matters to some head, such that its exact output moves by about half of its length.

    `exact` is the answer to `inputs`; it says which pages matter. hist stays one-hot (another element, and longer);
    elsewhere all tokens of the page move towards one random direction, because independent moves average out, or, every
    second time, a few elements of its heaviest token move far: a glance at a part of the cache does not see that.
    """
    row = int(rng.integers(len(exact.page_shares)))
    shares = exact.page_shares[row].max(axis=0)
    page_index = int(rng.choice(np.flatnonzero(shares >= 0.5 * shares.max())))
    head = int(exact.page_shares[row][:, page_index].argmax())
    page_id = int(inputs.row_pages(row)[page_index])
    page_size = inputs.kv_cache.shape[3]
    num_tokens = min(page_size, int(inputs.seq_lens[row]) - page_index * page_size)
    old = inputs.kv_cache[page_id, V_HALF]
    wanted = _WANTED_SHIFT * float(np.linalg.norm(exact.output[row, head])) / abs(inputs.v_scale)
    if family != "hist" and rng.integers(2):
        share = float(exact.page_shares[row][head, page_index])
        changed = _move_elements(inputs, row, head, page_id, num_tokens, wanted / share, rng)
        return PageChange(page_id=page_id, row=row, page_index=page_index, num_tokens=num_tokens, values=changed)
    direction = _direction(inputs, family, page_id, rng)
    gain = wanted / float(np.linalg.norm(direction, axis=1).mean() * shares[page_index])
    values = np.repeat(direction[:, np.newaxis] * np.clip(gain, 1.0, _LARGEST_GAIN), page_size, axis=1)
    if family != "hist":
        noise = draw_gaussian(rng, 0.0, inputs.kv_dtype, old.size).reshape(old.shape)
        values = values + noise.astype(np.float32)
    changed = encode(values, inputs.kv_dtype)
    changed[:, num_tokens:] = old[:, num_tokens:]
    return PageChange(page_id=page_id, row=row, page_index=page_index, num_tokens=num_tokens, values=changed)


def _move_elements(
    inputs: Inputs, row: int, head: int, page_id: int, num_tokens: int, page_shift: float, rng: np.random.Generator
) -> Array:
    """The page's V with a few neighbouring elements of the token that weighs most for `head` moved, for its KV head.

    page_shift: the length by which V of a token with all the page's weight would have to move.
    """
    num_kv_heads, head_dim = inputs.kv_cache.shape[2], inputs.kv_cache.shape[4]
    kv_head = head * num_kv_heads // inputs.q.shape[1]
    keys = inputs.kv_cache[page_id, K_HALF, kv_head, :num_tokens].astype(np.float64)
    logits = keys @ inputs.q[row, head].astype(np.float64) * inputs.logit_scale
    slot, width = int(logits.argmax()), max(1, head_dim // _SLICES)
    weight = 1.0 / float(np.exp(logits - logits[slot]).sum())
    first = int(rng.integers(head_dim - width + 1))
    amount = min(page_shift / weight / math.sqrt(width), _FARTHEST)
    values: Array = inputs.kv_cache[page_id, V_HALF].copy()
    moved = np.full(width, amount * rng.choice([-1.0, 1.0]))
    values[kv_head, slot, first : first + width] = encode(moved, inputs.kv_dtype)
    return values


def apply_change(kv_cache: Array, change: PageChange) -> Array:
    """Puts the new V in place and answers the old one, (num_kv_heads, page_size, head_dim)."""
    old: Array = kv_cache[change.page_id, V_HALF].copy()
    kv_cache[change.page_id, V_HALF] = change.values
    return old


def _direction(inputs: Inputs, family: str, page_id: int, rng: np.random.Generator) -> Array:
    """(num_kv_heads, head_dim): where the page's V goes. hist: one element, not the one that the page has now."""
    num_kv_heads, head_dim = inputs.kv_cache.shape[2], inputs.kv_cache.shape[4]
    if family != "hist":
        return np.asarray(V_MEAN + rng.standard_normal((num_kv_heads, head_dim)))
    now = inputs.kv_cache[page_id, V_HALF, :, 0].astype(np.float64).argmax(axis=1)
    step = rng.integers(1, head_dim, size=num_kv_heads)
    return np.asarray(np.eye(head_dim)[(now + step) % head_dim])
