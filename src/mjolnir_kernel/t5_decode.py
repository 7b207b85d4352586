"""Paged split-KV decode attention in Triton: the kernel that an experiment on a GPU target edits.

One query token a sequence over an fp8 or bf16 KV cache in pages, in two launches. `attend`: one program for each
(KV head, split, sequence) reads its pages once and keeps an online softmax. `merge`: one program for each (query head,
sequence) joins the splits. The algorithm with its shapes and numbers, and what was not tried yet: docs/kernel.md.
Allowed imports: torch, triton, triton.language, math, typing, functools, dataclasses, itertools, enum.
"""

import torch
import triton
import triton.language as tl

ROWS = 16
"""Query heads of one KV head, padded to what a tensor core takes; rows beyond the GQA group are zeros."""
TILE_TOKENS = 64
"""KV tokens of one step of the main loop. A tile never leaves its page: smaller pages, smaller tiles."""
PROGRAMS_PER_SM = 2
"""Programs of `attend` that are resident on one SM at a time; the grid is one wave of them."""
LOG2_E = 1.4426950408889634
LOWEST = tl.constexpr(-3e38)
"""Takes the place of -inf as a row's maximum where no token of a tile counts: its weights are exp2(-inf), zero."""
LN_2 = tl.constexpr(0.6931471805599453)
LOG2_448 = tl.constexpr(8.807354922057604)
"""P goes to the fp8 tensor cores as 448 * P, e4m3's whole range; the 448 leaves again when P's sum divides."""


@triton.jit
def fold(k, v, is_token, q, largest, total, acc, scale, KV_MAJOR: tl.constexpr, IS_TAIL: tl.constexpr):
    """Take one tile into the running maximum (in powers of 2), sum of exponentials and weighted sum of V.

    KV_MAJOR puts KV tokens first in both products, so that fp8 reaches tcgen05 as fp8: scores are (tile, ROWS) and acc
    is (HEAD_DIM, ROWS). Otherwise (ROWS, tile) and (ROWS, HEAD_DIM), in bf16.
    """
    TOKENS: tl.constexpr = 0 if KV_MAJOR else 1
    QUERIES: tl.constexpr = 1 if KV_MAJOR else 0
    s = tl.dot(k, q) if KV_MAJOR else tl.dot(q, k.to(q.dtype).T)
    if IS_TAIL:
        s = tl.where(tl.expand_dims(is_token, QUERIES), s, float("-inf"))
    new_largest = tl.maximum(largest, tl.max(s, TOKENS) * scale)
    if IS_TAIL:  # -inf - (-inf) is NaN
        new_largest = tl.maximum(new_largest, LOWEST)
    decay = tl.exp2(largest - new_largest)
    acc *= tl.expand_dims(decay, TOKENS)
    if KV_MAJOR:
        p = tl.exp2(s * scale - tl.expand_dims(new_largest - LOG2_448, TOKENS))
        acc = tl.dot(v.T, p.to(v.dtype), acc)
    else:
        p = tl.exp2(s * scale - tl.expand_dims(new_largest, TOKENS))
        acc = tl.dot(p.to(q.dtype), v.to(q.dtype), acc)
    return new_largest, total * decay + tl.sum(p, TOKENS), acc


@triton.jit
def load_tile(
    cache, page, slot, kv_head, half, page_stride, token_stride, PAGE: tl.constexpr, USE_TMA: tl.constexpr
):  # fmt: skip
    """K and V, each (TILE, HEAD_DIM), of the tile that begins at `slot` of `page`."""
    if USE_TMA:  # `cache` describes rows of HEAD_DIM; V begins `half` rows after K
        at = page * 2 * half + kv_head * PAGE + slot
        k, v = cache.load([at, 0]), cache.load([at + half, 0])
    else:  # `cache` points at a tile of this head in page 0; V begins `half` elements after K
        at = cache + page.to(tl.int64) * page_stride + slot * token_stride
        k, v = tl.load(at), tl.load(at + half)
    return k, v


@triton.jit
def attend(  # noqa: PLR0915  (one kernel, to be read from top to bottom)
    q, kv_cache, page_table, seq_lens, partial_out, partial_lse, scale,
    q_batch_stride, q_head_stride, page_stride, half_stride, kv_head_stride, token_stride, table_stride,
    num_pages, num_kv_heads, num_splits,
    GROUP: tl.constexpr, HEAD_DIM: tl.constexpr, PAGE: tl.constexpr, TILE: tl.constexpr, ROWS: tl.constexpr,
    KV_MAJOR: tl.constexpr, USE_TMA: tl.constexpr,
):  # fmt: skip
    """Attention of one KV head's query heads over one split of a sequence's pages -> partial_out, partial_lse.

    partial_out (batch, query heads, num_splits, HEAD_DIM) float32, divided by its own sum; partial_lse (batch, query
    heads, num_splits) float32, base 2. A sequence with fewer pages than splits leaves the last ones unwritten.
    """
    kv_head, split, b = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    length = tl.load(seq_lens + b)
    pages = tl.cdiv(length, PAGE)
    splits = tl.minimum(pages, num_splits)
    if split >= splits:
        return
    first_page = split * pages // splits
    end_page = (split + 1) * pages // splits
    tokens = tl.minimum(end_page * PAGE, length) - first_page * PAGE
    TILES_PER_PAGE: tl.constexpr = PAGE // TILE

    row = tl.arange(0, ROWS)
    dim = tl.arange(0, HEAD_DIM)
    token = tl.arange(0, TILE)
    is_head = row < GROUP
    head = kv_head * GROUP + row
    q_at = q + b.to(tl.int64) * q_batch_stride
    if KV_MAJOR:
        q_tile = tl.load(q_at + head[None, :] * q_head_stride + dim[:, None], mask=is_head[None, :], other=0.0)
        acc = tl.zeros((HEAD_DIM, ROWS), tl.float32)
    else:
        q_tile = tl.load(q_at + head[:, None] * q_head_stride + dim[None, :], mask=is_head[:, None], other=0.0)
        q_tile = q_tile.to(tl.bfloat16)
        acc = tl.zeros((ROWS, HEAD_DIM), tl.float32)
    largest = tl.full((ROWS,), float("-inf"), tl.float32)
    total = tl.zeros((ROWS,), tl.float32)

    table = page_table + b.to(tl.int64) * table_stride
    if USE_TMA:
        cache = tl.make_tensor_descriptor(
            kv_cache, [num_pages * 2 * num_kv_heads * PAGE, HEAD_DIM], [HEAD_DIM, 1], [TILE, HEAD_DIM]
        )
        half = num_kv_heads * PAGE
    else:
        cache = kv_cache + kv_head.to(tl.int64) * kv_head_stride + token[:, None] * token_stride + dim[None, :]
        half = half_stride
    full_tiles = tokens // TILE
    left = tokens - full_tiles * TILE
    if left > 0:  # the tail reads no token that is not there: what lies beyond may be NaN, and 0 * NaN is NaN
        page = tl.load(table + end_page - 1)
        slot = full_tiles % TILES_PER_PAGE * TILE
        is_token = token < left
        k, v = load_tile(cache, page, slot, kv_head, half, page_stride, token_stride, PAGE, USE_TMA)
        v = tl.where(is_token[:, None], v, 0.0)
        largest, total, acc = fold(k, v, is_token, q_tile, largest, total, acc, scale, KV_MAJOR, True)

    page = tl.load(table + first_page)
    for tile in tl.range(0, full_tiles):
        slot = tile % TILES_PER_PAGE * TILE
        k, v = load_tile(cache, page, slot, kv_head, half, page_stride, token_stride, PAGE, USE_TMA)
        # The next tile's page is asked for now: with its load in the same step, the loop could not be pipelined.
        next_page = first_page + (tile + 1) // TILES_PER_PAGE
        page = tl.load(table + next_page, mask=next_page < end_page, other=0)
        largest, total, acc = fold(k, v, token, q_tile, largest, total, acc, scale, KV_MAJOR, False)

    lse = largest + tl.log2(total)
    at = ((b * num_kv_heads + kv_head) * GROUP + row).to(tl.int64) * num_splits + split
    if KV_MAJOR:
        lse -= LOG2_448
        tl.store(partial_out + at[None, :] * HEAD_DIM + dim[:, None], acc / total[None, :], mask=is_head[None, :])
    else:
        tl.store(partial_out + at[:, None] * HEAD_DIM + dim[None, :], acc / total[:, None], mask=is_head[:, None])
    tl.store(partial_lse + at, lse, mask=is_head)


@triton.jit
def merge(
    partial_out, partial_lse, seq_lens, out, lse, v_scale, out_batch_stride, out_head_stride, num_splits,
    HEAD_DIM: tl.constexpr, PAGE: tl.constexpr, MAX_SPLITS: tl.constexpr, WANTS_LSE: tl.constexpr,
):  # fmt: skip
    """Join the splits of one query head: a mean of partial_out weighted by 2 ** partial_lse.

    A split that does not exist has a weight of zero and what memory holds in its place is never read.
    """
    head, b = tl.program_id(0), tl.program_id(1)
    splits = tl.minimum(tl.cdiv(tl.load(seq_lens + b), PAGE), num_splits)
    split = tl.arange(0, MAX_SPLITS)
    dim = tl.arange(0, HEAD_DIM)
    is_split = split < splits
    at = (b * tl.num_programs(0) + head).to(tl.int64)
    lse_2 = tl.load(partial_lse + at * num_splits + split, mask=is_split, other=float("-inf"))
    largest = tl.max(lse_2, 0)
    weight = tl.where(is_split, tl.exp2(lse_2 - largest), 0.0)
    total = tl.sum(weight, 0)
    parts_at = partial_out + (at * num_splits + split[:, None]) * HEAD_DIM + dim[None, :]
    parts = tl.load(parts_at, mask=is_split[:, None], other=0.0)
    result = tl.sum(parts * weight[:, None], 0) * (v_scale / total)
    out_at = out + b.to(tl.int64) * out_batch_stride + head * out_head_stride + dim
    tl.store(out_at, result.to(out.dtype.element_ty))
    if WANTS_LSE:
        tl.store(lse + at, (largest + tl.log2(total)) * LN_2)


def multiprocessors(device):
    """How many SMs the device has: 20 on Jetson AGX Thor."""
    index = device.index if device.index is not None else triton.runtime.driver.active.get_current_device()
    return triton.runtime.driver.active.utils.get_device_properties(index)["multiprocessor_count"]


def check_supported(q, kv_cache, page_table, seq_lens, out, lse):
    """Raise NotImplementedError, naming it, for what this kernel was not written for."""
    (_, num_q_heads, head_dim), (_, _, num_kv_heads, page_size, _) = q.shape, kv_cache.shape
    if q.dtype not in (torch.bfloat16, torch.float8_e4m3fn):
        raise NotImplementedError(f"q of dtype {q.dtype}: bfloat16 and float8_e4m3fn are supported")
    if kv_cache.dtype not in (torch.bfloat16, torch.float8_e4m3fn):
        raise NotImplementedError(f"kv_cache of dtype {kv_cache.dtype}: bfloat16 and float8_e4m3fn are supported")
    if head_dim not in (128, 256):
        raise NotImplementedError(f"head_dim {head_dim}: 128 and 256 are supported")
    if page_size not in (16, 32, 64, 128):
        raise NotImplementedError(f"page_size {page_size}: 16, 32, 64 and 128 are supported")
    if num_q_heads % num_kv_heads or num_q_heads // num_kv_heads > ROWS:
        raise NotImplementedError(
            f"{num_q_heads} query heads on {num_kv_heads} KV heads: a GQA group of 1 to {ROWS} whole heads is supported"
        )
    tensors = {"q": q, "kv_cache": kv_cache, "page_table": page_table, "seq_lens": seq_lens, "out": out}
    for name, tensor in tensors.items():
        if tensor.stride(-1) != 1:
            raise NotImplementedError(f"{name} with a last stride of {tensor.stride(-1)}: 1 is supported")
    if lse is not None and not lse.is_contiguous():
        raise NotImplementedError("lse with gaps: a contiguous tensor is supported")


def decode(q, kv_cache, page_table, seq_lens, *, sm_scale, q_scale=1.0, k_scale=1.0, v_scale=1.0, out, lse=None):
    """out[b, h] = softmax(sm_scale * q_scale * k_scale * q[b, h] . K^T) . V * v_scale, written to `out` in full.

    q (batch, num_q_heads, head_dim) bf16 or e4m3; kv_cache (num_pages, 2, num_kv_heads, page_size, head_dim), K at
    [:, 0], V at [:, 1]; page_table (batch, max_pages) int32; seq_lens (batch,) int32; lse, where asked for, (batch,
    num_q_heads) float32: the natural logarithm of the softmax's denominator.
    """
    check_supported(q, kv_cache, page_table, seq_lens, out, lse)
    batch, num_q_heads, head_dim = q.shape
    num_pages, _, num_kv_heads, page_size, _ = kv_cache.shape
    wave = PROGRAMS_PER_SM * multiprocessors(q.device)
    num_splits = max(1, min(wave // (num_kv_heads * batch), page_table.shape[1]))
    tile = min(TILE_TOKENS, page_size)
    kv_major = tile == TILE_TOKENS and q.dtype == kv_cache.dtype == torch.float8_e4m3fn
    is_dense = kv_cache.is_contiguous() and kv_cache.data_ptr() % 16 == 0
    use_tma = tile == TILE_TOKENS and is_dense and kv_cache.numel() // head_dim < 2**31
    stages = 3 if kv_cache.element_size() == 1 else 2  # the rings of two programs fit an SM's shared memory
    if use_tma:  # where a program builds its descriptor
        triton.set_allocator(lambda size, alignment, stream: torch.empty(size, dtype=torch.int8, device=q.device))
    partial_out = torch.empty((batch, num_q_heads, num_splits, head_dim), dtype=torch.float32, device=q.device)
    partial_lse = torch.empty((batch, num_q_heads, num_splits), dtype=torch.float32, device=q.device)
    attend[(num_kv_heads, num_splits, batch)](
        q, kv_cache, page_table, seq_lens, partial_out, partial_lse, sm_scale * q_scale * k_scale * LOG2_E,
        q.stride(0), q.stride(1), *kv_cache.stride()[:4], page_table.stride(0), num_pages, num_kv_heads, num_splits,
        GROUP=num_q_heads // num_kv_heads, HEAD_DIM=head_dim, PAGE=page_size, TILE=tile, ROWS=ROWS,
        KV_MAJOR=kv_major, USE_TMA=use_tma, num_warps=4, num_stages=stages,
    )  # fmt: skip
    merge[(num_q_heads, batch)](
        partial_out, partial_lse, seq_lens, out, lse, v_scale, out.stride(0), out.stride(1), num_splits,
        HEAD_DIM=head_dim, PAGE=page_size, MAX_SPLITS=triton.next_power_of_2(num_splits), WANTS_LSE=lse is not None,
        num_warps=4 if num_splits <= 16 else 16,  # all splits of a head are in registers at once
    )  # fmt: skip
