"""One correctness case: everything that fixes its inputs except the random draws. No array in sight."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from mjolnir.core.lengths import length_label
from mjolnir.core.workload import PagedDecode

FAMILIES = ("gauss", "temperature3", "needle", "hist", "large")
"""Input families; each is the only catcher of some wrong kernel (docs/harness.md says of which)."""


class Padding(StrEnum):
    """What the page table holds past a row's last used page: nothing there may be read."""

    MINUS_ONE = "-1"
    ANY_PAGE = "any"
    """The id of a page that some row really uses."""
    POISON_PAGE = "poison"
    """The id of a page full of NaN."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scales:
    """The three scalar factors of the contract. Logits do not depend on how a case splits them: q is drawn to fit."""

    q: float = 1.0
    k: float = 1.0
    v: float = 1.0

    def __str__(self) -> str:
        return "/".join(f"{value:g}".removeprefix("0") for value in (self.q, self.k, self.v))


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Inputs to be drawn and the calls to be made on them.

    lengths_tokens  one length a row, each >= 1; workload.batch is their number
    sm_factor       sm_scale is sm_factor / sqrt(head_dim)
    spare_pages     pages of kv_cache that no row uses, full of NaN; at least one, the last page in memory
    table_pages     width of the page table, at least the pages of the longest row
    changed_calls   follow-up calls, each after one page's V changed in the same buffers
    double_call     the first call is made twice without filling `out` anew; both answers count
    required        False: NotImplementedError is an answer (unsupported), not a failure
    variant         in words, what differs from the configured workload ("page 24"); empty: nothing
    has_sinks       in each row a token of every KV head takes most of the softmax and its V is zero: what is left is
                    made of small weights, which a kernel that rounds them to an unscaled fp8 loses
    has_far_pages   page ids are spread until element offsets pass 2^31 (for a target that can lay out such a cache)
    """

    family: str
    lengths_tokens: tuple[int, ...]
    workload: PagedDecode
    scales: Scales = Scales()
    sm_factor: float = 1.0
    padding: Padding = Padding.MINUS_ONE
    spare_pages: int = 1
    table_pages: int
    is_permuted: bool = True
    changed_calls: int = 1
    double_call: bool = False
    required: bool = True
    variant: str = ""
    has_sinks: bool = False
    has_far_pages: bool = False

    def __post_init__(self) -> None:
        if self.family not in FAMILIES:
            raise ValueError(f"{self.family!r} is not an input family: {', '.join(FAMILIES)}")
        if not self.lengths_tokens or min(self.lengths_tokens) < 1 or self.workload.batch != len(self.lengths_tokens):
            raise ValueError(f"{self.lengths_tokens} are not {self.workload.batch} lengths of at least one token")
        if self.spare_pages < 1 or self.table_pages < self.workload.pages(max(self.lengths_tokens)):
            raise ValueError(f"{self.name}: a spare page and a table of the longest row's pages are needed")

    @property
    def name(self) -> str:
        """What people see and `--match` looks at; unique in a plan: "gauss ragged 1,17,129 scales .37/1.9/1 pad -1"."""
        words = [self.family, self._shape()]
        if self.scales != Scales():
            words.append(f"scales {self.scales}")
        if self.sm_factor != 1.0:
            words.append(f"sm x{self.sm_factor:g}")
        words.append(f"pad {self.padding}")
        words += [self.variant] if self.variant else []
        words += ["sinks"] if self.has_sinks else []
        words += ["far pages"] if self.has_far_pages else []
        return " ".join(words)

    def _shape(self) -> str:
        distinct = set(self.lengths_tokens)
        if len(distinct) > 1:
            return "ragged " + ",".join(str(n) for n in self.lengths_tokens)
        label = f"L={length_label(self.lengths_tokens[0])}"
        return label if len(self.lengths_tokens) == 1 else f"{label} batch {len(self.lengths_tokens)}"

    @property
    def limit(self) -> float:
        """Largest allowed row-relative L2 error."""
        return self.workload.row_limit(self.family)

    @property
    def used_pages(self) -> int:
        return sum(self.workload.pages(n) for n in self.lengths_tokens)

    @property
    def num_pages(self) -> int:
        """Pages of kv_cache: used and spare."""
        return self.used_pages + self.spare_pages

    @property
    def num_calls(self) -> int:
        return 1 + int(self.double_call) + self.changed_calls

    @property
    def work_tokens(self) -> int:
        """Tokens that the kernel attends to over all calls: what the case costs."""
        return sum(self.lengths_tokens) * self.num_calls
