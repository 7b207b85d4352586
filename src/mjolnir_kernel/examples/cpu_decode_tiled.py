"""Paged decode attention on one CPU thread, in tiles: the faster kernel that `mjolnir demo` commits.

Two ideas over the starting kernel. A tile of K or V is decoded once and shared by all query heads of its KV head.
Decoding is arithmetic, which the compiler turns into vector instructions; a table look-up stays scalar.
"""

import ml_dtypes
import numpy as np
from numba import njit

TILE = 32
"""Tokens of a tile: 32 x 256 float32 are 32 KiB, which stay in the first-level cache while the heads share them."""


@njit
def decode_fp8(bits, tile):
    """e4m3 has 4 exponent bits of bias 7, float32 8 of bias 127: move the field, add 120 to the exponent.

    Magnitudes below 8 are subnormal, steps of 2**-9. NaN is not translated: no page in use holds one.
    """
    for row in range(bits.shape[0]):
        for d in range(bits.shape[1]):
            magnitude = np.uint32(bits[row, d] & 127)
            normal = np.uint32((magnitude << 20) + (120 << 23)).view(np.float32)
            value = normal if magnitude > 7 else np.float32(np.int32(magnitude)) * np.float32(2.0**-9)
            tile[row, d] = -value if bits[row, d] > 127 else value


@njit
def decode_bf16(bits, tile):
    """bf16 is the upper half of a float32."""
    for row in range(bits.shape[0]):
        for d in range(bits.shape[1]):
            tile[row, d] = np.uint32(np.uint32(bits[row, d]) << 16).view(np.float32)


# reassoc lets the sum run in vector lanes; NaN and infinity keep their meaning.
@njit(fastmath={"reassoc", "contract"})
def score(query, tile, count, scale, weights):
    """weights[t] = scale * query . tile[t]; returns the largest."""
    largest = np.float32(-np.inf)
    for t in range(count):
        dot = np.float32(0.0)
        for d in range(query.shape[0]):
            dot += query[d] * tile[t, d]
        weights[t] = dot * scale
        largest = max(largest, weights[t])
    return largest


@njit
def soften(weights, count, largest, top, sums, total):
    """Scores to weights under the maximum `top`; sums so far, made under `largest`, shrink to it. Returns the total."""
    shrink = np.exp(largest - top)
    if shrink < 1.0:
        total *= shrink
        for d in range(sums.shape[0]):
            sums[d] *= shrink
    for t in range(count):
        weights[t] = np.exp(weights[t] - top)
        total += weights[t]
    return total


@njit(fastmath={"contract"})
def add_weighted(weights, tile, count, sums):
    """sums += weights . tile"""
    for t in range(count):
        for d in range(sums.shape[0]):
            sums[d] += weights[t] * tile[t, d]


@njit
def attend_group(decode_tile, queries, kv_bits, kv_head, pages, length, scale, sums):
    """The query heads of one KV head over `length` tokens: queries and sums are (group, head_dim)."""
    group, head_dim = queries.shape
    page_size = kv_bits.shape[3]
    tile = np.empty((TILE, head_dim), np.float32)
    weights = np.empty((group, TILE), np.float32)
    largest = np.full(group, -np.inf, np.float32)
    total = np.zeros(group, np.float32)
    for start in range(0, length, page_size):
        page = pages[start // page_size]
        used = min(page_size, length - start)
        for slot in range(0, used, TILE):
            count = min(TILE, used - slot)
            decode_tile(kv_bits[page, 0, kv_head, slot : slot + count], tile)
            for g in range(group):
                top = max(largest[g], score(queries[g], tile, count, scale, weights[g]))
                total[g] = soften(weights[g], count, largest[g], top, sums[g], total[g])
                largest[g] = top
            decode_tile(kv_bits[page, 1, kv_head, slot : slot + count], tile)
            for g in range(group):
                add_weighted(weights[g], tile, count, sums[g])
    for g in range(group):
        for d in range(head_dim):
            sums[g, d] /= total[g]


@njit
def attend(decode_tile, q, kv_bits, page_table, seq_lens, scale, out):
    """`out` holds zeros on entry."""
    group = q.shape[1] // kv_bits.shape[2]
    for b in range(q.shape[0]):
        for kv_head in range(kv_bits.shape[2]):
            first, end = kv_head * group, (kv_head + 1) * group
            attend_group(
                decode_tile, q[b, first:end], kv_bits, kv_head, page_table[b], seq_lens[b], scale, out[b, first:end]
            )


DECODERS = {
    np.dtype(ml_dtypes.float8_e4m3fn): (np.uint8, decode_fp8),
    np.dtype(ml_dtypes.bfloat16): (np.uint16, decode_bf16),
}


def decode(q, kv_cache, page_table, seq_lens, *, sm_scale, q_scale=1.0, k_scale=1.0, v_scale=1.0, out):
    """out[b, h] = softmax(sm_scale * q_scale * k_scale * q[b, h] . K^T) . V * v_scale, written to `out` in full.

    q (batch, num_q_heads, head_dim); kv_cache (num_pages, 2, num_kv_heads, page_size, head_dim), K at [:, 0], V at
    [:, 1]; page_table (batch, max_pages) int32; seq_lens (batch,) int32. NotImplementedError for other element types.
    """
    for name, array in (("q", q), ("kv_cache", kv_cache)):
        if array.dtype not in DECODERS:
            known = ", ".join(map(str, DECODERS))
            raise NotImplementedError(f"{name} of dtype {array.dtype}: this kernel reads {known}")
    bits, decode_tile = DECODERS[kv_cache.dtype]
    result = np.zeros(q.shape, np.float32)
    scale = np.float32(sm_scale * q_scale * k_scale)
    attend(decode_tile, q.astype(np.float32), kv_cache.view(bits), page_table, seq_lens, scale, result)
    out[...] = (result * np.float32(v_scale)).astype(out.dtype)
