"""A made-up run of experiments: the same facts for both tools, each of which gets them as rows of its own format.

It imports nothing but the standard library, since the peer's Python runs it too. The shares are those of a long run:
most ideas gain nothing, one in seven does not work at all, and gains become rarer and smaller with every one found.
"""

from __future__ import annotations

import hashlib
import math
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone

TAG = "oct11"
BRANCH = f"autoresearch/{TAG}"
LENGTHS = (128, 4096, 8192, 16384, 32768, 65536, 131072, 262144)
REFERENCE_US = (9.4, 48.1, 82.6, 151.3, 287.9, 561.2, 1108.7, 2204.5)
MIN_GAIN = 0.02
_START = datetime(2025, 10, 11, 20, 0, tzinfo=timezone.utc)  # noqa: UP017 (also read by the peer's Python)
_VERBS = ("share", "prefetch", "split", "unroll", "vectorise", "drop", "fuse", "reorder", "double-buffer", "specialise")
_THINGS = (
    "the page tiles between the heads of a group",
    "the page table one tile ahead",
    "long rows over more programs and merge by LSE",
    "the softmax rescale into the exponent base",
    "the mask where a page is full",
    "the fp8 decode of K into the dot product",
    "the V tile through shared memory with a swizzled layout",
)
_WHYS = ("", ", since the profile shows exposed load latency", ", because short rows leave most of the device idle")


@dataclass(frozen=True)
class Fact:
    """What is true of one experiment, whoever writes it down. `per_length` is the speedup at each of LENGTHS."""

    id: int
    ts: str
    commit: str
    status: str
    reason: str
    hypothesis: str
    sources: list[str]
    is_correct: bool
    champion: Fact | None
    per_length: dict[str, float] = field(default_factory=dict)
    reference_us: dict[str, float] = field(default_factory=dict)
    score: float | None = None

    @property
    def candidate_us(self) -> dict[str, float]:
        return {k: self.reference_us[k] / v for k, v in self.per_length.items()}

    @property
    def relative(self) -> dict[str, float]:
        """This row's speedup over its champion's, by L."""
        if self.champion is None:
            return {}
        return {k: v / self.champion.per_length[k] for k, v in self.per_length.items()}


def make_facts(count: int, *, seed: int = 11) -> Iterator[Fact]:
    """`count` experiments, the first the baseline; the same for the same arguments."""
    draw = random.Random(seed)
    champion: Fact | None = None
    kept = 0
    for number in range(1, count + 1):
        fact = _fact(number, champion, kept, draw)
        if fact.status in ("baseline", "keep"):
            champion = fact
            kept += fact.status == "keep"
        yield fact


def _fact(number: int, champion: Fact | None, kept: int, draw: random.Random) -> Fact:
    status, gain, reason = _verdict(champion, kept, draw)
    per_length, reference_us = _times(status, champion, gain, draw) if gain else ({}, {})
    logs = [math.log(v) for v in per_length.values()]
    return Fact(
        id=number,
        ts=(_START + timedelta(minutes=3 * number)).isoformat(timespec="seconds"),
        commit=hashlib.sha1(str(number).encode()).hexdigest(),
        status=status,
        reason=reason,
        hypothesis="baseline: the starting kernel" if champion is None else _idea(draw),
        sources=["https://example.org/papers/flash-decoding", "2205.14135"] if number % 3 == 1 else [],
        is_correct=reason != "correctness failed",
        champion=champion,
        per_length=per_length,
        reference_us=reference_us,
        score=math.exp(sum(logs) / len(logs)) if logs else None,
    )


def _verdict(champion: Fact | None, kept: int, draw: random.Random) -> tuple[str, float, str]:
    """(status, gain over the champion as a ratio or 0 where nothing was timed, reason)."""
    if champion is None:
        return "baseline", 0.81, "the starting kernel"
    lot = draw.random()
    if lot < 0.12 / (1 + kept):
        gain = 1.021 + 0.08 * draw.random() / (1 + kept)
        return "keep", gain, f"geomean {(gain - 1) * 100:+.1f}%, {(gain - 1) * 98:+.1f}% without its best L (4K)"
    lot = draw.random()
    if lot < 0.07:
        return "crash", 0.0, "no score (a stage failed)"
    if lot < 0.14:
        return "discard", 0.0, "correctness failed"
    gain = min(1.019, math.exp(draw.gauss(-0.015, 0.03)))
    if lot < 0.16:
        return "noisy", gain, "FlashInfer reference unstable at 8K, 16K, 64K; re-evaluate"
    return "discard", gain, f"geomean {(gain - 1) * 100:+.1f}% <= +2%"


def _times(
    status: str, champion: Fact | None, gain: float, draw: random.Random
) -> tuple[dict[str, float], dict[str, float]]:
    reference_us, per_length = {}, {}
    for place, (length, usual_us) in enumerate(zip(LENGTHS, REFERENCE_US)):  # noqa: B905 (also read by the peer's Python)
        key = str(length)
        jump = 1.3 if status == "noisy" and place in (2, 3, 5) else 1.0
        reference_us[key] = usual_us * jump * math.exp(draw.gauss(0, 0.01))
        before = champion.per_length[key] if champion is not None else 1.0
        per_length[key] = before * gain * math.exp(draw.gauss(0, 0.004))
    return per_length, reference_us


def _idea(draw: random.Random) -> str:
    return f"{draw.choice(_VERBS)} {draw.choice(_THINGS)}{draw.choice(_WHYS)}"
