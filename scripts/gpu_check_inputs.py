"""The inputs of one case as torch tensors, drawn on the device that will read them. Part of gpu_check.py.

The same families as src/mjolnir/oracle/inputs.py, which draws with numpy and ml_dtypes; here there is neither ml_dtypes
for sure nor time to carry half a GiB to the device for each case. The constants are those of the oracle, and a test
compares them. Codes of fp8 are moved as bytes: torch indexes and fills bytes everywhere, fp8 not in every version.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mjolnir.core.cases import Case, Padding

K_HALF, V_HALF = 0, 1
"""kv_cache[:, K_HALF] and kv_cache[:, V_HALF]."""
V_MEAN = 0.5
"""V ~ N(0.5, 1): with a mean of zero an all-zero output would be nearly right on a long row."""
NEEDLE_LOGIT = 3.0
"""A needle's logit is ln(n) + 3."""
NEEDLE_SPIKE = 4.0
"""A needle's V is drawn four times as large."""
LOGIT_DEVIATION = {"gauss": 1.0, "temperature3": 3.0, "needle": 1.0, "hist": 1.0, "large": 40.0}
"""Standard deviation of the ordinary logits by family."""
MOST_Q_DEVIATION = 64.0
"""q is not drawn wider than this, so that fp8 holds 7 deviations; sm_scale makes up the rest."""
DTYPES = {"fp8_e4m3": torch.float8_e4m3fn, "bf16": torch.bfloat16}
LARGEST = {"fp8_e4m3": 448.0, "bf16": 3.0e38}
NAN_BITS = {"fp8_e4m3": 0x7F, "bf16": 0x7FC0}
_BITS = {1: torch.uint8, 2: torch.int16}
_BLOCK_ELEMENTS = 1 << 24
"""Elements drawn at a time: 64 MiB of float32."""
_WANTED_SHIFT = 0.5
"""How far a changed page moves the answer, as a part of its length: ten times the loosest limit."""
_LARGEST_GAIN = 100.0
"""fp8 holds 448: four deviations of a direction that is made this much longer."""

Array = NDArray[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """What `decode` is given, beside `out` and `lse`. Shapes and dtypes as in docs/harness.md."""

    q: Tensor
    """(batch, num_q_heads, head_dim)"""
    kv_cache: Tensor
    """(num_pages, 2, num_kv_heads, page_size, head_dim)"""
    page_table: Tensor
    """(batch, table pages) int32"""
    seq_lens: Tensor
    """(batch,) int32"""
    row_pages: tuple[Array, ...]
    """one a row, (pages of the row,) int64 on the host: the page ids that it uses, in the order of its tokens"""
    lengths_tokens: tuple[int, ...]
    sm_scale: float
    q_scale: float
    k_scale: float
    v_scale: float

    @property
    def logit_scale(self) -> float:
        """The factor between q . k and a logit."""
        return self.sm_scale * self.q_scale * self.k_scale


def bits_of(values: Tensor) -> Tensor:
    """The raw codes of fp8 or bf16 `values`: the same memory seen as uint8 or int16."""
    return values.view(_BITS[values.element_size()])


def encode(values: Tensor, name: str) -> Tensor:
    """`values` rounded to the nearest number of the type, cut off at its largest."""
    return values.clamp(-LARGEST[name], LARGEST[name]).to(torch.float32).to(DTYPES[name])


def widen(values: Tensor) -> Tensor:
    """fp8 or bf16 `values` as float64, exactly."""
    return values.to(torch.float32).to(torch.float64)


def make_inputs(case: Case, rng: np.random.Generator, device: torch.device, *, is_strided: bool = False) -> Inputs:
    """Draws the inputs of `case` on `device`.

    Pages that no row uses and the tokens after a row's last are NaN, and the last page in memory is one of them.
    is_strided: the cache has one more KV head, full of NaN, that no call is told of, so that it is not contiguous.
    """
    w = case.workload
    generator = torch.Generator(device).manual_seed(int(rng.integers(1 << 62)))
    deviation = LOGIT_DEVIATION[case.family] / (case.sm_factor * case.scales.q * case.scales.k)
    q_deviation = min(deviation, MOST_Q_DEVIATION)
    q = torch.randn((w.batch, w.num_q_heads, w.head_dim), generator=generator, device=device) * q_deviation
    row_pages, table = _lay_out(case, rng)
    inputs = Inputs(
        q=encode(q, w.q_dtype),
        kv_cache=_draw_cache(case, np.concatenate(row_pages), generator, is_strided),
        page_table=torch.from_numpy(table).to(device),
        seq_lens=torch.tensor(case.lengths_tokens, dtype=torch.int32, device=device),
        row_pages=row_pages,
        lengths_tokens=case.lengths_tokens,
        sm_scale=case.sm_factor / math.sqrt(w.head_dim) * deviation / q_deviation,
        q_scale=case.scales.q,
        k_scale=case.scales.k,
        v_scale=case.scales.v,
    )
    for row, length in enumerate(case.lengths_tokens):
        if case.family == "needle":
            _plant_needles(inputs, row, w.kv_dtype, rng)
        elif case.family == "hist":
            _make_histogram(inputs, row, w.kv_dtype, rng)
        slot = (length - 1) % w.page_size + 1
        bits_of(inputs.kv_cache)[int(row_pages[row][-1]), :, :, slot:] = NAN_BITS[w.kv_dtype]
    return inputs


def change_page(
    inputs: Inputs, output: Tensor, page_shares: tuple[Tensor, ...], case: Case, rng: np.random.Generator
) -> None:
    """Gives a page that matters a new V in place: the answer of some head moves by about half of its length.

    `output` (batch, heads, head_dim) and `page_shares` are the exact answer before (gpu_check_oracle.py). All tokens of
    the page move towards one direction, because independent moves average out; hist stays one-hot.
    """
    w, name = case.workload, case.workload.kv_dtype
    row = int(rng.integers(w.batch))
    shares = page_shares[row].amax(0)
    heavy = (shares >= 0.5 * shares.max()).nonzero().flatten().tolist()
    index = int(rng.choice(heavy))
    head = int(page_shares[row][:, index].argmax())
    page = int(inputs.row_pages[row][index])
    bits = bits_of(inputs.kv_cache)[page, V_HALF]
    if case.family == "hist":
        now = inputs.kv_cache[page, V_HALF, :, 0].to(torch.float32).argmax(-1).cpu().numpy()
        moved = np.eye(w.head_dim)[(now + rng.integers(1, w.head_dim, size=w.num_kv_heads)) % w.head_dim]
    else:
        moved = V_MEAN + rng.standard_normal((w.num_kv_heads, w.head_dim))
    wanted = _WANTED_SHIFT * float(output[row, head].norm()) / abs(inputs.v_scale)
    gain = wanted / (float(np.linalg.norm(moved, axis=1).mean()) * float(shares[index]))
    values = np.repeat(moved[:, np.newaxis] * np.clip(gain, 1.0, _LARGEST_GAIN), w.page_size, axis=1)
    if case.family != "hist":
        values += rng.standard_normal(values.shape)
    tokens = min(w.page_size, case.lengths_tokens[row] - index * w.page_size)
    fresh = bits_of(encode(torch.from_numpy(values), name)).to(bits.device)
    bits[:, :tokens] = fresh[:, :tokens]


def _lay_out(case: Case, rng: np.random.Generator) -> tuple[tuple[Array, ...], Array]:
    """Each row's page ids, and the page table (batch, table pages) int32 over them."""
    ids = np.arange(case.num_pages - 1)
    used = (rng.permutation(ids) if case.is_permuted else ids)[: case.used_pages]
    shape = (case.workload.batch, case.table_pages)
    if case.padding is Padding.MINUS_ONE:
        table = np.full(shape, -1, np.int32)
    elif case.padding is Padding.POISON_PAGE:
        table = np.full(shape, case.num_pages - 1, np.int32)
    else:
        table = rng.choice(used, shape).astype(np.int32)
    ends = list(itertools.accumulate(case.workload.pages(n) for n in case.lengths_tokens))
    row_pages = tuple(used[start:end] for start, end in zip([0, *ends], ends, strict=False))
    for row, pages in enumerate(row_pages):
        table[row, : pages.size] = pages
    return row_pages, table


def _draw_cache(case: Case, used: Array, generator: torch.Generator, is_strided: bool) -> Tensor:
    """kv_cache with K ~ N(0, 1) and V ~ N(0.5, 1) in the used pages and NaN in all others."""
    w = case.workload
    heads = w.num_kv_heads + int(is_strided)
    shape = (case.num_pages, 2, heads, w.page_size, w.head_dim)
    bits_type = _BITS[DTYPES[w.kv_dtype].itemsize]
    store = torch.full(shape, NAN_BITS[w.kv_dtype], dtype=bits_type, device=generator.device)
    bits = store[:, :, : w.num_kv_heads]
    if case.family != "hist":
        block = max(1, _BLOCK_ELEMENTS // (w.num_kv_heads * w.page_size * w.head_dim))
        for ids in torch.from_numpy(used).to(generator.device).split(block):
            for half, mean in ((K_HALF, 0.0), (V_HALF, V_MEAN)):
                values = torch.randn((ids.numel(), *bits.shape[2:]), generator=generator, device=generator.device)
                bits[ids, half] = bits_of(encode(values + mean, w.kv_dtype))
    return store.view(DTYPES[w.kv_dtype])[:, :, : w.num_kv_heads]


def _plant_needles(inputs: Inputs, row: int, name: str, rng: np.random.Generator) -> None:
    """Gives each q head a key of its own, so that every position of `_needle_positions` is some head's."""
    _, _, num_kv_heads, page_size, head_dim = inputs.kv_cache.shape
    length = inputs.lengths_tokens[row]
    q = widen(inputs.q[row]).cpu().numpy() * inputs.logit_scale
    positions, heads = _needle_positions(length, page_size, rng), rng.permutation(len(q)).tolist()
    members: dict[tuple[int, int], list[int]] = {}
    for i in range(max(len(q), len(positions))):
        head, token = heads[i % len(q)], positions[i % len(positions)]
        at = members.setdefault((head * num_kv_heads // len(q), token), [])
        if head not in at:
            at.append(head)
    logit = math.log(length) + NEEDLE_LOGIT
    keys = np.stack([np.linalg.lstsq(q[at], np.full(len(at), logit), rcond=None)[0] for at in members.values()])
    spikes = NEEDLE_SPIKE * (V_MEAN + rng.standard_normal((len(members), head_dim)))
    device = inputs.kv_cache.device
    kv_heads, tokens = (torch.tensor(column, device=device) for column in zip(*members, strict=True))
    pages = torch.from_numpy(inputs.row_pages[row]).to(device)[tokens // page_size]
    bits = bits_of(inputs.kv_cache)
    for half, values in ((K_HALF, keys), (V_HALF, spikes)):
        bits[pages, half, kv_heads, tokens % page_size] = bits_of(encode(torch.from_numpy(values), name)).to(device)


def _needle_positions(length: int, page_size: int, rng: np.random.Generator) -> list[int]:
    """First, last, last but one, middle, both sides of a page edge, and one anywhere in each eighth of the row."""
    positions = [0, length - 1, length - 2, length // 2]
    if length > page_size:
        edge = int(rng.integers(1, -(-length // page_size))) * page_size
        positions += [edge - 1, edge]
    bounds = np.linspace(0, length, 9).astype(int)
    positions += [int(rng.integers(a, b)) for a, b in itertools.pairwise(bounds) if b > a]
    return list(dict.fromkeys(p for p in positions if 0 <= p < length))


def _make_histogram(inputs: Inputs, row: int, name: str, rng: np.random.Generator) -> None:
    """Equal keys, and V one-hot by page: the exact output counts each page's tokens, whatever q is."""
    _, _, num_kv_heads, page_size, head_dim = inputs.kv_cache.shape
    bits, device = bits_of(inputs.kv_cache), inputs.kv_cache.device
    pages = torch.from_numpy(inputs.row_pages[row]).to(device)
    key = torch.from_numpy(rng.standard_normal((num_kv_heads, 1, head_dim)))
    bits[pages, K_HALF] = bits_of(encode(key, name)).to(device).expand(-1, page_size, -1)
    one = int(bits_of(encode(torch.ones(1), name)))
    for kv_head in range(num_kv_heads):
        dims = torch.from_numpy(rng.permutation(head_dim)[np.arange(pages.numel()) % head_dim]).to(device)
        values = torch.zeros((pages.numel(), page_size, head_dim), dtype=bits.dtype, device=device)
        values[torch.arange(pages.numel(), device=device), :, dims] = one
        bits[pages, V_HALF, kv_head] = values
