"""What a kernel computes: shapes, bytes and tolerances of one paged decode step, without an array in sight."""

from __future__ import annotations

from dataclasses import dataclass

BYTES_PER_ELEMENT = {"fp8_e4m3": 1, "bf16": 2}

ROW_L2_LIMITS = {
    "bf16": {"gauss": 1e-2, "needle": 1e-2, "hist": 1e-2, "temperature3": 2e-2, "large": 3e-2},
    "fp8_e4m3": {"gauss": 4e-2, "needle": 4e-2, "hist": 1e-2, "temperature3": 5e-2, "large": 4e-2},
}
"""Largest allowed row-relative L2 error by q dtype and input family (docs/harness.md says where they come from)."""

HIST_ELEMENT_LIMIT = 0.02
"""hist: no element may differ by more than this part of its row's maximum."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PagedDecode:
    """One decode step of paged grouped-query attention. Shapes as in docs/harness.md; lengths in tokens."""

    num_q_heads: int = 24
    num_kv_heads: int = 4
    head_dim: int = 256
    page_size: int = 128
    kv_dtype: str = "fp8_e4m3"
    q_dtype: str = "bf16"
    batch: int = 1

    @property
    def group(self) -> int:
        """Query heads that share one KV head (the GQA group)."""
        return self.num_q_heads // self.num_kv_heads

    def pages(self, length_tokens: int) -> int:
        """Pages that hold `length_tokens`."""
        return -(-length_tokens // self.page_size)

    def kv_bytes(self, length_tokens: int) -> int:
        """Bytes of K and V that one call must read: 2 * batch * num_kv_heads * head_dim * L * bytes per element."""
        return 2 * self.batch * self.num_kv_heads * self.head_dim * length_tokens * BYTES_PER_ELEMENT[self.kv_dtype]

    def row_limit(self, family: str) -> float:
        """Largest allowed row-relative L2 error of an input family."""
        return ROW_L2_LIMITS[self.q_dtype][family]
