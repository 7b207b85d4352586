"""Cases small enough for a loop in plain Python."""

from __future__ import annotations

from mjolnir.core.cases import Case, Scales
from mjolnir.core.workload import PagedDecode


def tiny_workload(**changes):
    values = {"num_q_heads": 4, "num_kv_heads": 2, "head_dim": 16, "page_size": 4} | changes
    return PagedDecode(**values)


UNIT = Scales()


def tiny_case(family="gauss", lengths=(1, 4, 11), *, scales=UNIT, shape=None, **changes):
    workload = tiny_workload(batch=len(lengths), **(shape or {}))
    values = {"table_pages": workload.pages(max(lengths)) + 2, "spare_pages": 2} | changes
    return Case(family=family, lengths_tokens=lengths, workload=workload, scales=scales, **values)
