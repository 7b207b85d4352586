"""What an experimenter says about an idea: text of any length and any Unicode, kept as it came."""

from __future__ import annotations

from dataclasses import dataclass

from mjolnir.errors import UsageFault


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """An idea, who had it, where it comes from."""

    hypothesis: str
    agent: str = ""
    sources: tuple[str, ...] = ()


def make_words(hypothesis: str, *, agent: str = "", sources: str = "") -> Words:
    """`sources` is split at its commas. Bytes of the command line that are no UTF-8 become the replacement character.

    Raises UsageFault for a hypothesis that says nothing.
    """
    if not hypothesis.strip():
        raise UsageFault("the hypothesis is empty", 'say what you tried: mjolnir autoresearch evaluate -m "TEXT"')
    found = (source.strip() for source in as_unicode(sources).split(","))
    return Words(
        hypothesis=as_unicode(hypothesis),
        agent=as_unicode(agent),
        sources=tuple(source for source in found if source),
    )


def as_unicode(text: str) -> str:
    """`text` without lone surrogates, which stand for bytes that were no UTF-8 and which UTF-8 cannot hold."""
    return text.encode("utf-8", "surrogateescape" if _is_escaped(text) else "replace").decode("utf-8", "replace")


def _is_escaped(text: str) -> bool:
    """True when every lone surrogate is one that Python made of a byte."""
    return not any("\ud800" <= c <= "\udfff" and not "\udc80" <= c <= "\udcff" for c in text)
