"""What a Triton kernel is asked in the interpreter: both q dtypes, every input family, the shapes of a GPU kernel."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from mjolnir.core.case_plan import describe_difference, plan_cases
from mjolnir.core.cases import Case
from mjolnir.core.workload import BYTES_PER_ELEMENT, PagedDecode

QUICK_LENGTHS = (128, 1024)
FULL_LENGTHS = (128, 1024, 4096)
"""Tokens. The interpreter needs about a second of CPU for 1K tokens of four KV heads."""
PAGE_SIZES = (16, 32, 64, 128)
HEAD_DIMS = (128, 256)
HEADS = ((28, 4), (5, 1), (8, 8))
"""(query heads, KV heads): GQA groups of 7, 5 and 1, none of them a power of two but the last."""
SINK_LENGTHS = (300, 1000, 129)
FAR_PAGE_SIZE = 32
"""Small pages take the path of a kernel that computes its own addresses."""


def plan_interpreter_cases(
    workload: PagedDecode, *, quick: bool, seed: int, q_dtypes: Sequence[str] = (), match: str = ""
) -> tuple[Case, ...]:
    """The cases of one check, in the order in which they are called; arguments as in `plan_cases`.

    q_dtypes empty: the workload's own, then the others, which the kernel may refuse.
    """
    dtypes = q_dtypes or (workload.q_dtype, *(name for name in BYTES_PER_ELEMENT if name != workload.q_dtype))
    lengths = QUICK_LENGTHS if quick else FULL_LENGTHS
    cases = plan_cases(workload, lengths, quick=quick, seed=seed, q_dtypes=dtypes, shapes=tuple(_shapes(workload)))
    found = [*cases, *_sink_cases(workload, dtypes), *_far_cases(workload, dtypes)]
    return tuple(case for case in found if match.lower() in case.name.lower())


def _shapes(workload: PagedDecode) -> Iterator[PagedDecode]:
    for page_size in PAGE_SIZES:
        if page_size != workload.page_size:
            yield replace(workload, page_size=page_size)
    for head_dim in HEAD_DIMS:
        if head_dim != workload.head_dim:
            yield replace(workload, head_dim=head_dim)
    for num_q_heads, num_kv_heads in HEADS:
        if (num_q_heads, num_kv_heads) != (workload.num_q_heads, workload.num_kv_heads):
            yield replace(workload, num_q_heads=num_q_heads, num_kv_heads=num_kv_heads)


def _sink_cases(workload: PagedDecode, q_dtypes: Sequence[str]) -> Iterator[Case]:
    for q_dtype in q_dtypes:
        of_case = replace(workload, q_dtype=q_dtype, batch=len(SINK_LENGTHS))
        yield Case(
            family="gauss",
            lengths_tokens=SINK_LENGTHS,
            workload=of_case,
            table_pages=workload.pages(max(SINK_LENGTHS)) + 1,
            changed_calls=0,
            required=q_dtype == workload.q_dtype,
            variant=describe_difference(replace(of_case, batch=workload.batch), workload),
            has_sinks=True,
        )


def _far_cases(workload: PagedDecode, q_dtypes: Sequence[str]) -> Iterator[Case]:
    """Two pages and a bit, once at the workload's page size and once at a small one."""
    for q_dtype in q_dtypes:
        for page_size in dict.fromkeys((workload.page_size, FAR_PAGE_SIZE)):
            of_case = replace(workload, q_dtype=q_dtype, page_size=page_size, batch=1)
            yield Case(
                family="gauss",
                lengths_tokens=(2 * page_size + page_size // 2 + 1,),
                workload=of_case,
                spare_pages=2,
                table_pages=4,
                required=(q_dtype, page_size) == (workload.q_dtype, workload.page_size),
                variant=describe_difference(of_case, workload),
                has_far_pages=True,
            )
