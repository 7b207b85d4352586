"""How much shared memory and address space the workers of a visit need."""

from __future__ import annotations

from collections.abc import Iterable

from mjolnir.core.cases import Case
from mjolnir.core.workload import BYTES_PER_ELEMENT, PagedDecode

_SLACK_BYTES = 8 << 20


def kv_cache_bytes(workload: PagedDecode, num_pages: int) -> int:
    """Bytes of a KV cache of `num_pages` pages."""
    elements = 2 * workload.num_kv_heads * workload.page_size * workload.head_dim
    return num_pages * elements * BYTES_PER_ELEMENT[workload.kv_dtype]


def arena_bytes(workload: PagedDecode, cases: Iterable[Case], lengths: Iterable[int]) -> int:
    """Enough for the largest case and the largest timed L; q, out and tables fit the slack at any sane shape."""
    sizes = [kv_cache_bytes(case.workload, case.num_pages) for case in cases]
    sizes += [kv_cache_bytes(workload, workload.batch * workload.pages(n) + 2) for n in lengths]
    vectors = 64 * workload.batch * workload.num_q_heads * workload.head_dim
    return max(sizes) + vectors + _SLACK_BYTES
