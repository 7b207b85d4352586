"""Which cases an evaluation checks. Pure: the same seed gives the same plan."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from mjolnir.core.cases import FAMILIES, Case, Padding, Scales
from mjolnir.core.workload import BYTES_PER_ELEMENT, PagedDecode

RAGGED_BATCH = 3
RAGGED_MAX_TOKENS = 1536
"""Random ragged lengths end here: long enough for several tiles of any kernel, cheap enough for each evaluation."""
UNIT = Scales()
SCALES = (Scales(q=0.37, k=1.9), Scales(k=0.37, v=1.9), Scales(q=1.9, v=0.37), Scales(q=0.37, k=0.37, v=1.9))
"""Each factor is seen above and below 1, and no two of them cancel."""
SM_FACTOR = 0.7
"""sm_scale other than 1/sqrt(head_dim), for a kernel that computes it itself."""
OTHER_PAGE_SIZES = (24, 40)
OTHER_HEAD_DIMS = (128, 64)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Planner:
    """One workload's cases. All ragged cases share one shape of every array, so that a kernel that recognises its
    buffers by address and shape meets other contents in them."""

    workload: PagedDecode
    sweep_lengths: tuple[int, ...]
    rng: random.Random
    required: bool
    variant: str

    def quick(self) -> Iterator[Case]:
        """Every family, padding and edge length once; the shortest first, so that a wrong kernel fails early."""
        edges = self._shuffled_edges()
        short, long = self._random_tokens(4), self._random_tokens(1)
        one, two, three, four = self.rng.sample(SCALES, 4)
        yield self._ragged("gauss", edges[0:3], UNIT, Padding.MINUS_ONE)
        yield self._ragged("gauss", [edges[3], edges[4], next(short)], one, Padding.ANY_PAGE, sm_factor=SM_FACTOR)
        yield self._ragged("needle", [next(short), edges[5], next(long)], two, Padding.POISON_PAGE, double_call=True)
        yield self._ragged("hist", [next(short), next(long), edges[0]], UNIT, Padding.ANY_PAGE)
        yield self._ragged("temperature3", [next(long), next(long), next(short)], three, Padding.MINUS_ONE)
        yield self._ragged("large", [next(long), next(short), next(long)], four, Padding.POISON_PAGE)
        yield from self._quick_sweep()

    def full(self) -> Iterator[Case]:
        """Every family with every padding, every sweep length, and the lengths around it."""
        for family in FAMILIES:
            for padding in Padding:
                edges, long = self._shuffled_edges(), self._random_tokens(1)
                scales = self.rng.choice(SCALES)
                yield self._ragged(family, edges[0:3], UNIT, padding)
                yield self._ragged(family, [edges[3], next(long), next(long)], scales, padding, double_call=True)
                yield self._ragged(family, [next(long), edges[4], edges[5]], scales, padding, sm_factor=SM_FACTOR)
        for length in self.sweep_lengths:
            for family, padding in zip(FAMILIES, self._paddings(), strict=False):
                if family in ("needle", "hist") or length <= max(RAGGED_MAX_TOKENS, self.sweep_lengths[0]):
                    yield self._level(family, length, padding)
            yield self._level("needle", length + 1, self._padding())
            if length > 1:
                yield self._level("needle", length - 1, self._padding())

    def _quick_sweep(self) -> Iterator[Case]:
        """L with needle and hist and L + 1: the short L that together cost no more than half of the longest, and the
        longest. Of the others one L in one family, in rotation. temperature3 at the longest, where small weights count
        most. Several long cases are called once only: what is kept from call to call shows at the short ones."""
        *others, longest = self.sweep_lengths
        short = [n for i, n in enumerate(others) if sum(others[: i + 1]) <= longest // 2]
        for length in short:
            for family, padding in zip(("needle", "hist"), self._paddings(), strict=False):
                yield self._level(family, length, padding)
            yield self._level("needle", length + 1, self._padding(), changed_calls=0)
        if rotated := others[len(short) :]:
            yield self._level(self.rng.choice(("needle", "hist")), self.rng.choice(rotated), self._padding())
        yield self._level("needle", longest + 1, self._padding(), changed_calls=0)
        yield self._level("hist", longest, self._padding(), changed_calls=0)
        yield self._level("temperature3", longest, self._padding(), changed_calls=0)
        yield self._level("needle", longest, self._padding())

    def other_shape(self) -> Case:
        """One small ragged case: two families would say no more about a shape that is supported."""
        edges = self._shuffled_edges()
        return self._ragged("gauss", edges[0:3], UNIT, self._padding())

    def _level(self, family: str, length: int, padding: Padding, changed_calls: int = 1) -> Case:
        """A case in the sweep's own form: every row as long, two table entries and one page unused."""
        return Case(
            family=family,
            lengths_tokens=(length,) * self.workload.batch,
            workload=self.workload,
            padding=padding,
            table_pages=self.workload.pages(length) + 2,
            changed_calls=changed_calls,
            required=self.required,
            variant=self.variant,
        )

    def _ragged(
        self,
        family: str,
        lengths: Sequence[int],
        scales: Scales,
        padding: Padding,
        *,
        sm_factor: float = 1.0,
        double_call: bool = False,
    ) -> Case:
        most_pages = self.workload.pages(self._max_tokens())
        used = sum(self.workload.pages(n) for n in lengths)
        return Case(
            family=family,
            lengths_tokens=tuple(lengths),
            workload=replace(self.workload, batch=RAGGED_BATCH),
            scales=scales,
            sm_factor=sm_factor,
            padding=padding,
            spare_pages=RAGGED_BATCH * most_pages + 1 - used,
            table_pages=most_pages + 1,
            double_call=double_call,
            required=self.required,
            variant=self.variant,
        )

    def _shuffled_edges(self) -> list[int]:
        """1, 2, 17, 127, 128, 129 for pages of 128 tokens, in random order; for other pages their own edges."""
        page = self.workload.page_size
        edges = {1, 2, page // 8 + 1, page - 1, page, page + 1} - {0}
        filled = [*edges, *(page + n for n in range(2, 8 - len(edges)))]
        return self.rng.sample(filled, len(filled))

    def _max_tokens(self) -> int:
        longest = max(self.sweep_lengths)
        return max(2 * self.workload.page_size + 8, min(RAGGED_MAX_TOKENS, longest))

    def _random_tokens(self, part: int) -> Iterator[int]:
        """Endless random lengths over one page, up to the ragged maximum divided by `part`."""
        low, high = self.workload.page_size + 8, self._max_tokens()
        while True:
            yield self.rng.randint(low, max(low, high // part))

    def _padding(self) -> Padding:
        return self.rng.choice(list(Padding))

    def _paddings(self) -> list[Padding]:
        """One for each family, in random order, each kind at least once."""
        kinds = [*Padding, self._padding(), self._padding()]
        return self.rng.sample(kinds, len(kinds))


def plan_cases(
    workload: PagedDecode,
    sweep_lengths: Sequence[int],
    *,
    quick: bool,
    seed: int,
    q_dtypes: Sequence[str] = (),
    match: str = "",
    shapes: Sequence[PagedDecode] = (),
) -> tuple[Case, ...]:
    """The cases of one check, in the order in which they are to be called.

    sweep_lengths are in tokens, in any order. q_dtypes: empty means the workload's own; cases of any other q dtype and
    of other shapes are optional. shapes: further shapes of the workload, one small case each. match keeps the cases
    whose name holds that text, whatever its letter case (it can leave none). Raises ValueError when there is no length,
    or a dtype is unknown.
    """
    lengths = tuple(sorted(set(sweep_lengths)))
    if not lengths or lengths[0] < 1:
        raise ValueError(f"{sweep_lengths!r} are not context lengths")
    if unknown := set(q_dtypes) - set(BYTES_PER_ELEMENT):
        raise ValueError(f"{', '.join(sorted(unknown))} is no q dtype: {', '.join(BYTES_PER_ELEMENT)}")
    rng = random.Random(seed)
    cases: list[Case] = []
    for q_dtype in dict.fromkeys(q_dtypes or (workload.q_dtype,)):
        of_dtype = replace(workload, q_dtype=q_dtype)
        cases += _dtype_cases(of_dtype, lengths, rng, quick, workload)
        for shape in shapes:
            words = describe_difference(replace(shape, q_dtype=q_dtype), workload)
            cases.append(_optional(replace(shape, q_dtype=q_dtype), lengths, rng, words))
    if not quick and not q_dtypes:
        others = [name for name in BYTES_PER_ELEMENT if name != workload.q_dtype]
        cases += [_optional(replace(workload, q_dtype=name), lengths, rng, f"q {name}") for name in others]
    distinct = {case.name: case for case in cases if match.lower() in case.name.lower()}
    return tuple(distinct.values())


def _dtype_cases(
    workload: PagedDecode, lengths: tuple[int, ...], rng: random.Random, quick: bool, configured: PagedDecode
) -> Iterator[Case]:
    is_own = workload.q_dtype == configured.q_dtype
    variant = "" if is_own else f"q {workload.q_dtype}"
    planner = _Planner(workload=workload, sweep_lengths=lengths, rng=rng, required=is_own, variant=variant)
    first, *rest = planner.quick() if quick else planner.full()
    yield first
    yield _other_page_size(workload, lengths, rng, variant)
    if not quick:
        head_dim = next(n for n in OTHER_HEAD_DIMS if n != workload.head_dim)
        words = f"{variant} head_dim {head_dim}".strip()
        yield _optional(replace(workload, head_dim=head_dim), lengths, rng, words)
    yield from rest


def describe_difference(workload: PagedDecode, configured: PagedDecode) -> str:
    """What a case of `workload` says of its shape: "page 32", "q fp8_e4m3 heads 28/4"; empty where nothing differs."""
    words = [
        (f"q {workload.q_dtype}", workload.q_dtype != configured.q_dtype),
        (f"kv {workload.kv_dtype}", workload.kv_dtype != configured.kv_dtype),
        (f"page {workload.page_size}", workload.page_size != configured.page_size),
        (f"head_dim {workload.head_dim}", workload.head_dim != configured.head_dim),
        (
            f"heads {workload.num_q_heads}/{workload.num_kv_heads}",
            (workload.num_q_heads, workload.num_kv_heads) != (configured.num_q_heads, configured.num_kv_heads),
        ),
    ]
    return " ".join(text for text, differs in words if differs)


def _other_page_size(workload: PagedDecode, lengths: tuple[int, ...], rng: random.Random, variant: str) -> Case:
    page_size = next(n for n in OTHER_PAGE_SIZES if n != workload.page_size)
    return _optional(replace(workload, page_size=page_size), lengths, rng, f"{variant} page {page_size}".strip())


def _optional(workload: PagedDecode, lengths: tuple[int, ...], rng: random.Random, variant: str) -> Case:
    planner = _Planner(workload=workload, sweep_lengths=lengths, rng=rng, required=False, variant=variant)
    return planner.other_shape()
