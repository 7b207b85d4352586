"""Whether two hypotheses say the same thing: a cheap comparison of words and letters, for a reminder, not a verdict."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

CLOSE = 0.6
"""From this closeness on two texts count as one idea. It lies where another form of a word ("fused" for "fuse") still
is the same and one other word among five still is close, but two texts that only share a topic are not."""
MAX_CHARS = 300
"""Of a text; more is compared by its beginning, where the idea stands."""
_LEAST_SHARED_WORDS = 0.25
"""Below this part of shared words the letters are not compared any more: they would be close by chance only."""
_NO_WORD = re.compile(r"[\W_]+")
_STOP_WORDS = frozenset(
    ("a", "an", "and", "are", "as", "at", "be", "by", "do", "for", "from", "i", "in", "into", "is", "it", "its", "of",
     "on", "or", "so", "that", "the", "then", "this", "to", "try", "use", "using", "was", "we", "with")
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Essence:
    """What is left of a text for comparing: `text` is its words in order, `words` the set of them."""

    text: str
    words: frozenset[str]


def normalise(text: str) -> str:
    """`text` in lower case, compatibility forms made plain (NFKC), without punctuation and stop words, one space
    between words. A text of stop words alone keeps them; one without any word becomes empty."""
    plain = unicodedata.normalize("NFKC", text[:MAX_CHARS]).casefold()[:MAX_CHARS]
    words = _NO_WORD.sub(" ", plain).split()
    return " ".join([word for word in words if word not in _STOP_WORDS] or words)


def essence(text: str) -> Essence:
    """What `closeness` compares."""
    normal = normalise(text)
    return Essence(text=normal, words=frozenset(normal.split()))


def closeness(one: Essence, other: Essence) -> float:
    """0 (nothing in common) to 1 (equal after `normalise`): the larger one of two Jaccard indices, shared over all
    words and shared over all groups of three letters. An empty text is close to nothing."""
    if not one.words or not other.words:
        return 0.0
    if one.text == other.text:
        return 1.0
    by_words = _jaccard(one.words, other.words)
    if by_words >= CLOSE or by_words < _LEAST_SHARED_WORDS:
        return by_words
    return max(by_words, _jaccard(_threes(one.text), _threes(other.text)))


def is_close(one: str, other: str) -> bool:
    """True when two texts count as one idea."""
    return closeness(essence(one), essence(other)) >= CLOSE


def _jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    shared = len(one & other)
    return shared / (len(one) + len(other) - shared)


def _threes(text: str) -> frozenset[str]:
    padded = f" {text} "
    return frozenset(padded[i : i + 3] for i in range(len(padded) - 2))
