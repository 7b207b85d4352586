"""One file of a corpus: what it is, and what a right harness answers. Read from its first lines or a MANIFEST.json.

A file of tests/bad_kernels begins with comment lines `# name: value`:
    answer           statuses joined by "or", then words that must be in the code or detail of the answer. Statuses:
                     discard (wrong answer), invalid, crash, refused (no row), noisy, neutralised (the cheat has no
                     effect: measured as usual and no gain), "keep or discard" (an honest kernel: speed alone decides)
    kind             a row of the table in docs/integrity.md; or control, fault (breaks down), wall (only runs against a
                     wall); the import scan is set aside for these two: walls and limits stand without it
    no gain over     the honest file that does the same work: what neutralised is measured against
    measured before  the file whose program was measured before this one
    worker pairs, time limit (s), q (dtype), unsupported (text in the name of a case)
The whole format stands on these lines; a line that is not of this form ends them.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "bad_kernels"
STATUSES = frozenset({"keep", "discard", "invalid", "crash", "refused", "noisy", "neutralised"})
KINDS = (
    *("trivial answer", "skipped work", "hard-coded", "precision", "hidden state", "stale or late output", "sniffing"),
    *("tampering", "foreign work", "reference sabotage", "statistics", "text", "wall", "fault", "control"),
)
NO_CHEATS = frozenset({"wall", "fault", "control"})
"""Kinds that are not there to gain anything: a naive checker is not asked about them."""
MEASURED = "measured"
_HONEST = "41-honest.py"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """`answers`: the right ones, of STATUSES, MEASURED for "keep or discard". `words` must stand in code or detail."""

    path: Path
    name: str
    kind: str
    is_control: bool
    answers: tuple[str, ...]
    words: tuple[str, ...] = ()
    no_gain_over: Path | None = None
    measured_before: Path | None = None
    worker_pairs: int = 1
    time_limit_s: float = 120.0
    q_dtype: str = ""
    unsupported: str = ""

    @property
    def expected(self) -> str:
        """For people."""
        return " ".join([" or ".join(self.answers), *self.words])


def read_folder(folder: Path) -> tuple[Entry, ...]:
    """Every kernel of a corpus by name. Raises ValueError for a file without a readable answer."""
    manifest = folder / "MANIFEST.json"
    if manifest.exists():
        rows = json.loads(manifest.read_text())["candidates"]
        return tuple(_from_facts(folder / row["file"], row) for row in rows)
    return tuple(read_entry(path, folder) for path in sorted(folder.rglob("*.py")))


def read_entry(path: Path, folder: Path = FOLDER) -> Entry:
    """The entry of one file: from its first lines, or from its META."""
    text = path.read_text()
    if not text.startswith("# answer:"):
        return _from_facts(path, _meta(path, text))
    notes = read_notes(text)
    statuses, words = split_answer(notes["answer"])
    kind = notes.get("kind", "")
    if kind not in KINDS:
        raise ValueError(f"{path.name}: {kind!r} is no kind: {', '.join(KINDS)}")
    return Entry(
        path=path,
        name=str(path.relative_to(folder)),
        kind=kind,
        is_control=kind == "control",
        answers=(MEASURED,) if "keep" in statuses else statuses,
        words=words,
        no_gain_over=_beside(folder, notes.get("no gain over")),
        measured_before=_beside(folder, notes.get("measured before")),
        worker_pairs=int(notes.get("worker pairs", 1)),
        time_limit_s=float(notes.get("time limit", 120)),
        q_dtype=notes.get("q", ""),
        unsupported=notes.get("unsupported", ""),
    )


def read_notes(text: str) -> dict[str, str]:
    """The `# name: value` lines that `text` begins with."""
    notes = {}
    for line in text.splitlines():
        name, colon, value = line.removeprefix("# ").partition(": ")
        if not line.startswith("# ") or not colon:
            break
        notes[name] = value.strip()
    return notes


def split_answer(answer: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """("discard", "invalid"), ("E_STATE",) of "discard or invalid E_STATE". Raises ValueError when none is named."""
    parts = answer.split()
    count = 0
    while count < len(parts) and (parts[count] in STATUSES or parts[count] == "or"):
        count += 1
    statuses = tuple(p for p in parts[:count] if p != "or")
    if not statuses:
        raise ValueError(f"{answer!r} names no answer: {', '.join(sorted(STATUSES))}")
    return statuses, tuple(parts[count:])


def _from_facts(path: Path, facts: dict[str, Any]) -> Entry:
    """From a row of a manifest, or a META that says the same."""
    answers = tuple(MEASURED if a == "keep-or-discard" else a for a in facts["answer"])
    if not set(answers) <= STATUSES | {MEASURED}:
        raise ValueError(f"{path.name}: {facts['answer']} are no answers")
    parent = facts.get("parent")
    return Entry(
        path=path,
        name=path.name,
        kind=facts["class"],
        is_control=facts["kind"] == "control",
        answers=answers,
        no_gain_over=_beside(path.parent, _HONEST) if "neutralised" in answers else None,
        measured_before=path.parent / f"{parent}.py" if parent else None,
        unsupported=facts.get("optional_case", "").partition(":")[0].replace("page size", "page"),
    )


def _meta(path: Path, text: str) -> dict[str, Any]:
    for node in ast.parse(text).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "META":
            facts: dict[str, Any] = ast.literal_eval(node.value)
            return facts
    raise ValueError(f"{path.name} says neither `# answer:` on its first line nor META")


def _beside(folder: Path, name: str | None) -> Path | None:
    return folder / name if name and (folder / name).exists() else None


def cheats(entries: Iterable[Entry]) -> list[Entry]:
    """Those that want to be taken for better than they are."""
    return [e for e in entries if not e.is_control and e.kind not in NO_CHEATS]
