"""The inputs of one case: arrays in the contract's shapes, drawn from a seed that never leaves this process."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np

from mjolnir.core.cases import Case, Padding
from mjolnir.oracle.codes import DTYPES, NAN_BITS, Array, bits_of, draw_gaussian, dtype_name, encode

K_HALF, V_HALF = 0, 1
"""kv_cache[:, K_HALF] and kv_cache[:, V_HALF]."""
V_MEAN = 0.5
"""V ~ N(0.5, 1): with a mean of zero an all-zero output would be nearly right on a long row."""
NEEDLE_LOGIT = 3.0
"""A needle's logit is ln(n) + 3: e^3 against the e^0.5 of n ordinary keys, 92 % of the softmax."""
SINK_LOGIT = 8.0
"""e^8 against the e^0.5 of each ordinary key: 90 % of the softmax at 200 tokens."""
NEEDLE_SPIKE = 4.0
"""A needle's V is drawn four times as large."""
LOGIT_DEVIATION = {"gauss": 1.0, "temperature3": 3.0, "needle": 1.0, "hist": 1.0, "large": 40.0}
"""Standard deviation of the ordinary logits by family."""
_MOST_Q_DEVIATION = 64.0
"""q is not drawn wider than this, so that fp8 (448 at most) holds 7 deviations; sm_scale makes up the rest."""
_BLOCK_ELEMENTS = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """What `decode` is given, beside `out`. Shapes and dtypes as in the contract (docs/harness.md)."""

    q: Array
    """(batch, num_q_heads, head_dim), q dtype"""
    kv_cache: Array
    """(num_pages, 2, num_kv_heads, page_size, head_dim), KV dtype; [:, 0] = K, [:, 1] = V"""
    page_table: Array
    """(batch, table pages) int32"""
    seq_lens: Array
    """(batch,) int32"""
    sm_scale: float
    q_scale: float
    k_scale: float
    v_scale: float

    @property
    def logit_scale(self) -> float:
        """The factor between q . k and a logit."""
        return self.sm_scale * self.q_scale * self.k_scale

    @property
    def kv_dtype(self) -> str:
        """The workload's name of the element type of kv_cache."""
        return dtype_name(self.kv_cache)

    def row_pages(self, row: int) -> Array:
        """The page ids that row `row` uses, in the order of its tokens."""
        page_size = self.kv_cache.shape[3]
        return np.asarray(self.page_table[row, : -(-int(self.seq_lens[row]) // page_size)])


def make_inputs(case: Case, rng: np.random.Generator) -> Inputs:
    """Draws the inputs of `case`. The rounded values are the truth: the oracle decodes what the kernel gets.

    Pages that no row uses and the tokens after a row's last are NaN. The last page in memory is one of them, so that
    kv_cache[-1] is poison too.
    """
    workload = case.workload
    deviation = LOGIT_DEVIATION[case.family] / (case.sm_factor * case.scales.q * case.scales.k)
    q_deviation = min(deviation, _MOST_Q_DEVIATION)
    q = rng.standard_normal((workload.batch, workload.num_q_heads, workload.head_dim)) * q_deviation
    used, page_table = _lay_out(case, rng)
    inputs = Inputs(
        q=encode(q, workload.q_dtype),
        kv_cache=_draw_cache(case, used, rng),
        page_table=page_table,
        seq_lens=np.array(case.lengths_tokens, np.int32),
        sm_scale=case.sm_factor / math.sqrt(workload.head_dim) * deviation / q_deviation,
        q_scale=case.scales.q,
        k_scale=case.scales.k,
        v_scale=case.scales.v,
    )
    for row in range(workload.batch):
        if case.family == "needle":
            _plant_needles(inputs, row, rng)
        elif case.family == "hist":
            _make_histogram(inputs, row, rng)
        if case.has_sinks:
            _plant_sinks(inputs, row, rng)
        _poison_tail(inputs, row)
    return inputs


def _lay_out(case: Case, rng: np.random.Generator) -> tuple[Array, Array]:
    """The used page ids, and the page table over them."""
    ids = np.arange(case.num_pages - 1)
    used = (rng.permutation(ids) if case.is_permuted else ids)[: case.used_pages].astype(np.int32)
    shape = (case.workload.batch, case.table_pages)
    if case.padding is Padding.MINUS_ONE:
        table = np.full(shape, -1, np.int32)
    elif case.padding is Padding.POISON_PAGE:
        table = np.full(shape, case.num_pages - 1, np.int32)
    else:
        table = rng.choice(used, shape).astype(np.int32)
    start = 0
    for row, length in enumerate(case.lengths_tokens):
        pages = case.workload.pages(length)
        table[row, :pages] = used[start : start + pages]
        start += pages
    return used, table


def _draw_cache(case: Case, used: Array, rng: np.random.Generator) -> Array:
    """kv_cache with K ~ N(0, 1) and V ~ N(0.5, 1) in the used pages and NaN in all others."""
    w = case.workload
    dtype = DTYPES[w.kv_dtype]
    half = w.num_kv_heads * w.page_size * w.head_dim
    cache = np.empty((case.num_pages, 2, half), dtype)
    bits_of(cache)[np.setdiff1d(np.arange(case.num_pages), used)] = NAN_BITS[w.kv_dtype]
    if case.family != "hist":
        block = max(1, _BLOCK_ELEMENTS // half)
        for start in range(0, used.size, block):
            ids = used[start : start + block]
            for which, mean in ((K_HALF, 0.0), (V_HALF, V_MEAN)):
                cache[ids, which] = draw_gaussian(rng, mean, w.kv_dtype, ids.size * half).reshape(ids.size, half)
    return cache.reshape(case.num_pages, 2, w.num_kv_heads, w.page_size, w.head_dim)


def _plant_needles(inputs: Inputs, row: int, rng: np.random.Generator) -> None:
    """Gives each q head of a row a key of its own, so that every position of `_needle_positions` is some head's."""
    num_heads, head_dim = inputs.q.shape[1:]
    _, _, num_kv_heads, page_size, _ = inputs.kv_cache.shape
    name = inputs.kv_dtype
    length = int(inputs.seq_lens[row])
    positions = _needle_positions(length, page_size, rng)
    heads = rng.permutation(num_heads)
    wanted: dict[tuple[int, int], list[int]] = {}
    for i in range(max(num_heads, len(positions))):
        head, token = int(heads[i % num_heads]), positions[i % len(positions)]
        members = wanted.setdefault((head * num_kv_heads // num_heads, token), [])
        if head not in members:
            members.append(head)
    for (kv_head, token), members in wanted.items():
        page, slot = inputs.page_table[row, token // page_size], token % page_size
        key = key_with_logit(inputs.q[row, members], inputs.logit_scale, math.log(length) + NEEDLE_LOGIT)
        inputs.kv_cache[page, K_HALF, kv_head, slot] = encode(key, name)
        spike = NEEDLE_SPIKE * (V_MEAN + rng.standard_normal(head_dim))
        inputs.kv_cache[page, V_HALF, kv_head, slot] = encode(spike, name)


def _plant_sinks(inputs: Inputs, row: int, rng: np.random.Generator) -> None:
    """One token a KV head, anywhere in the row, with a logit of SINK_LOGIT for each of its q heads and a V of zero."""
    _, _, num_kv_heads, page_size, _ = inputs.kv_cache.shape
    group = inputs.q.shape[1] // num_kv_heads
    for kv_head in range(num_kv_heads):
        index, slot = divmod(int(rng.integers(int(inputs.seq_lens[row]))), page_size)
        page = inputs.page_table[row, index]
        key = key_with_logit(inputs.q[row, kv_head * group : (kv_head + 1) * group], inputs.logit_scale, SINK_LOGIT)
        inputs.kv_cache[page, K_HALF, kv_head, slot] = encode(key, inputs.kv_dtype)
        inputs.kv_cache[page, V_HALF, kv_head, slot] = encode(0.0, inputs.kv_dtype)


def key_with_logit(q: Array, logit_scale: float, logit: float) -> Array:
    """The shortest key (head_dim,) whose logit is `logit` for each of the rows of `q` (heads, head_dim)."""
    matrix = q.astype(np.float64) * logit_scale
    return np.asarray(np.linalg.lstsq(matrix, np.full(len(matrix), logit), rcond=None)[0])


def _needle_positions(length: int, page_size: int, rng: np.random.Generator) -> list[int]:
    """First, last, last but one, middle, both sides of a page edge, and one anywhere in each eighth of the row."""
    positions = [0, length - 1, length - 2, length // 2]
    if length > page_size:
        edge = int(rng.integers(1, -(-length // page_size))) * page_size
        positions += [edge - 1, edge]
    bounds = np.linspace(0, length, 9).astype(int)
    positions += [int(rng.integers(a, b)) for a, b in itertools.pairwise(bounds) if b > a]
    return list(dict.fromkeys(p for p in positions if 0 <= p < length))


def _make_histogram(inputs: Inputs, row: int, rng: np.random.Generator) -> None:
    """Equal keys, and V one-hot by page: the exact output counts each page's tokens, whatever q is."""
    _, _, num_kv_heads, page_size, head_dim = inputs.kv_cache.shape
    name = inputs.kv_dtype
    pages = inputs.row_pages(row)
    key = draw_gaussian(rng, 0.0, name, num_kv_heads * head_dim).reshape(num_kv_heads, 1, head_dim)
    inputs.kv_cache[pages, K_HALF] = key
    inputs.kv_cache[pages, V_HALF] = encode(0.0, name)
    for kv_head in range(num_kv_heads):
        dims = rng.permutation(head_dim)[np.arange(pages.size) % head_dim]
        for slot in range(page_size):
            inputs.kv_cache[pages, V_HALF, kv_head, slot, dims] = encode(1.0, name)


def _poison_tail(inputs: Inputs, row: int) -> None:
    page_size = inputs.kv_cache.shape[3]
    length = int(inputs.seq_lens[row])
    page, slot = inputs.row_pages(row)[-1], (length - 1) % page_size + 1
    bits_of(inputs.kv_cache)[page, :, :, slot:] = NAN_BITS[inputs.kv_dtype]
