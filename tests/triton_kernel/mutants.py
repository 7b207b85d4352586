"""The table of broken kernels: here what is read and written wrongly, in mutants_numbers.py what is computed wrongly.

RIGHT: other ways to the same answer, which have to pass.
"""

from __future__ import annotations

from mutant import FAR_PAGES, mutant
from mutants_numbers import FOLDED, NUMBERS

LENGTH = "length = tl.load(seq_lens + b)"
TILES = "for tile in tl.range(0, full_tiles):"
FIRST_PAGE = "page = tl.load(table + first_page)"
NEXT_PAGE = "page = tl.load(table + next_page, mask=next_page < end_page, other=0)"
MASKED = 's = tl.where(tl.expand_dims(is_token, QUERIES), s, float("-inf"))'
TMA_LOAD = "k, v = cache.load([at, 0]), cache.load([at + half, 0])"
TMA_AT = "at = page * 2 * half + kv_head * PAGE + slot"
HEAD = "head = kv_head * GROUP + row"
PARTIAL_AT = "at = ((b * num_kv_heads + kv_head) * GROUP + row).to(tl.int64)"
STORE_KV_MAJOR = "dim[:, None], acc / total[None, :], mask=is_head[None, :])"
STORE_Q_MAJOR = "dim[None, :], acc / total[:, None], mask=is_head[:, None])"
STORE_OUT = "tl.store(out_at, result.to(out.dtype.element_ty))"
KEPT_ANSWER = """\
    if getattr(decode, "key", None) == kv_cache.data_ptr():
        out.copy_(decode.answer)
        return
"""
CHECKED = "    check_supported(q, kv_cache, page_table, seq_lens, out, lse)\n"
PARTIALS = "num_splits, head_dim), dtype=torch.float32"
KV_MAJOR = "kv_major = tile == TILE_TOKENS and q.dtype == kv_cache.dtype == torch.float8_e4m3fn"
USE_TMA = "use_tma = tile == TILE_TOKENS and is_dense and kv_cache.numel() // head_dim < 2**31"
NUM_SPLITS = "num_splits = max(1, min(wave // (num_kv_heads * batch), page_table.shape[1]))"
MERGE_END = "registers at once\n    )  # fmt: skip\n"

TOKENS = (
    mutant(
        "half the KV",
        "the second half of each split's tiles is never read",
        (TILES, "for tile in tl.range(0, (full_tiles + 1) // 2):"),
    ),
    mutant(
        "last token dropped",
        "the newest token counts for nothing",
        (LENGTH, "length = tl.maximum(tl.load(seq_lens + b) - 1, 1)"),
    ),
    mutant("first length for all", "every sequence is as long as the first", (LENGTH, "length = tl.load(seq_lens)")),
    mutant(
        "whole pages",
        "a length is rounded up to whole pages",
        ("tokens = tl.minimum(end_page * PAGE, length) - first_page * PAGE", "tokens = (end_page - first_page) * PAGE"),
    ),
    mutant("short tail skipped", "a tail of one token is not worth a tile", ("if left > 0:", "if left > 1:")),
    mutant(
        "tail one too long",
        "the token after the last is attended to",
        ("is_token = token < left", "is_token = token <= left"),
    ),
    mutant(
        "tail twice",
        "the main loop takes the tail again, without a mask",
        (TILES, "for tile in tl.range(0, tl.cdiv(tokens, TILE)):"),
    ),
    mutant(
        "tail from the page's start",
        "a tail in a page's second half is read from its first",
        ("slot = full_tiles % TILES_PER_PAGE * TILE", "slot = 0"),
    ),
    mutant(
        "first half twice",
        "each tile of a page is read from the page's start",
        ("slot = tile % TILES_PER_PAGE * TILE", "slot = 0"),
    ),
    mutant(
        "unmasked V tail",
        "P is zero there, but 0 * NaN is NaN",
        ("        v = tl.where(is_token[:, None], v, 0.0)\n", ""),
    ),
    mutant(
        "masked scores zero",
        "a token that is not there has the weight exp(0)",
        (MASKED, MASKED.replace('float("-inf")', "0.0")),
    ),
    mutant(
        "finite sentinel",
        "a masked score is a number that real scores come near",
        (MASKED, MASKED.replace('float("-inf")', "-100.0")),
    ),
    mutant(
        "V of the next token",
        "V lags one token behind K",
        (TMA_LOAD, "k, v = cache.load([at, 0]), cache.load([at + half + 1, 0])"),
    ),
    mutant("K and V exchanged", "V is scored and K is summed", (TMA_LOAD, TMA_LOAD.replace("k, v", "v, k"))),
)

PAGES = (
    mutant(
        "stale page table",
        "the table is that of the call before",
        (
            CHECKED,
            f'{CHECKED}    page_table, decode.earlier = getattr(decode, "earlier", page_table), page_table.clone()\n',
        ),
    ),
    mutant(
        "first table row for all",
        "the page table's stride is left out",
        ("table = page_table + b.to(tl.int64) * table_stride", "table = page_table"),
    ),
    mutant(
        "pages in order",
        "the page table is not looked at",
        (FIRST_PAGE, "page = first_page"),
        (NEXT_PAGE, "page = next_page"),
    ),
    mutant(
        "first page in every split",
        "each split begins with the sequence's first page",
        (FIRST_PAGE, "page = tl.load(table)"),
    ),
    mutant("page id never advances", "a split reads its first page again and again", (NEXT_PAGE, FIRST_PAGE)),
    mutant(
        "page id one tile late",
        "the first tile of a page is read from the page before",
        ("next_page = first_page + (tile + 1) // TILES_PER_PAGE", "next_page = first_page + tile // TILES_PER_PAGE"),
    ),
    mutant(
        "tail page one too far",
        "the tail's page is the one after the last",
        ("page = tl.load(table + end_page - 1)", "page = tl.load(table + end_page)"),
    ),
    mutant(
        "pages that do not divide",
        "pages beyond a whole number for each split are left out",
        ("end_page = (split + 1) * pages // splits", "end_page = first_page + pages // splits"),
    ),
    mutant(
        "split one page late",
        "a split's first page is rounded up, the last split's end is not",
        ("first_page = split * pages // splits", "first_page = (split * pages + splits - 1) // splits"),
    ),
    mutant(
        "int32 page offsets",
        "page times stride passes 2**31 from 2 GiB of KV on",
        ("page.to(tl.int64) * page_stride", "page * page_stride"),
        only_by=FAR_PAGES,
    ),
    mutant(
        "V of another head by pointer",
        "where TMA does not serve, V is taken one KV head after K",
        ("half = half_stride", "half = kv_head_stride"),
    ),
)

HEADS = (
    mutant(
        "q of the other heads",
        "query heads of another KV head are loaded",
        (HEAD, "head = (num_kv_heads - 1 - kv_head) * GROUP + row"),
    ),
    mutant(
        "swapped KV head",
        "two KV heads change places",
        (TMA_AT, TMA_AT.replace("kv_head * PAGE", "(kv_head ^ 1) * PAGE")),
    ),
    mutant(
        "interleaved groups",
        "query head h reads KV head h % num_kv_heads",
        (HEAD, "head = row * num_kv_heads + kv_head"),
        (PARTIAL_AT, "at = ((b * GROUP + row) * num_kv_heads + kv_head).to(tl.int64)"),
    ),
    mutant(
        "first q for all", "q's batch stride is left out", ("q_at = q + b.to(tl.int64) * q_batch_stride", "q_at = q")
    ),
    mutant(
        "partials of one sequence",
        "every sequence stores its partial answers in the first one's place",
        (PARTIAL_AT, "at = (kv_head * GROUP + row).to(tl.int64)"),
    ),
    mutant(
        "last head of a group",
        "one query head of each KV head is never computed",
        ("is_head = row < GROUP", "is_head = row < GROUP - 1"),
    ),
    mutant(
        "padded rows stored",
        "rows beyond the group overwrite the heads of the next",
        (STORE_KV_MAJOR, STORE_KV_MAJOR.replace(", mask=is_head[None, :]", "")),
        (STORE_Q_MAJOR, STORE_Q_MAJOR.replace(", mask=is_head[:, None]", "")),
    ),
    mutant(
        "out of one sequence",
        "out's batch stride is left out",
        ("out_at = out + b.to(tl.int64) * out_batch_stride + head", "out_at = out + head"),
    ),
    mutant(
        "one head unwritten",
        "a head of out is never written",
        (STORE_OUT, STORE_OUT.replace("ty))", "ty), mask=dim < tl.where(head == 5, 0, HEAD_DIM))")),
    ),
    mutant(
        "the answer before",
        "buffers at the same address get the answer they got last time",
        (
            CHECKED,
            CHECKED + KEPT_ANSWER,
        ),
        (MERGE_END, f"{MERGE_END}    decode.key, decode.answer = kv_cache.data_ptr(), out.clone()\n"),
    ),
)

MUTANTS = (*TOKENS, *PAGES, *HEADS, *NUMBERS)

RIGHT = (
    mutant(
        "bf16 partials",
        "a split's answer is rounded as the whole one will be",
        (PARTIALS, PARTIALS.replace("32", "16").replace("float16", "bfloat16")),
    ),
    mutant(
        "sum of rounded P",
        "what is divided by is the sum of what was multiplied; it moves lse by 1.2e-3",
        (FOLDED, FOLDED.replace("tl.sum(p,", "tl.sum(p.to(tl.bfloat16).to(tl.float32),")),
    ),
    mutant("q-major for fp8 q", "fp8 is widened to bf16", (KV_MAJOR, "kv_major = False")),
    mutant("pointers for TMA", "a program computes its own addresses", (USE_TMA, "use_tma = False")),
    mutant("one split", "a sequence is one program's", (NUM_SPLITS, "num_splits = 1")),
)
