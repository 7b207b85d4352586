"""A corpus' answers for people and as JSON."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from corpus.entry import NO_CHEATS, Entry
from corpus.harness import Answer

SCHEMA = "mjolnir.corpus/1"
Answers = Mapping[str, Sequence[Answer]]
_HEADS = ("file", "kind", "expected", "answered", "code", "runs", "")


def table(entries: Sequence[Entry], answers: Answers, fooled: Mapping[str, bool]) -> str:
    """One line a file and distinct answer, with the numbers of the runs that got it."""
    lines = [_HEADS]
    for entry in entries:
        groups: dict[tuple[str, str, str], list[int]] = {}
        for run, answer in enumerate(answers[entry.name], 1):
            verdict = f"WRONG: {answer.wrong}" if answer.wrong else "right"
            groups.setdefault((answer.status, answer.code, verdict), []).append(run)
        for (status, code, verdict), runs in groups.items():
            shown = f"{verdict}{', naive: lets it through' if fooled.get(entry.name) else ''}"
            numbers = ",".join(map(str, runs))
            lines.append((entry.name, entry.kind, " or ".join(entry.answers), status, code, numbers, shown))
    widths = [max(len(line[i]) for line in lines) for i in range(len(_HEADS) - 1)]
    return "\n".join("  ".join([*map(str.ljust, line[:-1], widths), line[-1]]).rstrip() for line in lines)


def summary(entries: Sequence[Entry], answers: Answers, fooled: Mapping[str, bool]) -> dict[str, Any]:
    """Counts of files that every run answered rightly, by group, cheats by kind, and the naive checker's."""
    groups: dict[str, dict[str, int]] = {}
    kinds: dict[str, int] = {}
    for entry in entries:
        group = "controls" if entry.is_control else f"{entry.kind}s" if entry.kind in NO_CHEATS else "cheats"
        count = groups.setdefault(group, {"right": 0, "files": 0, "noisy": 0})
        count["files"] += 1
        count["right"] += not any(a.wrong for a in answers[entry.name])
        count["noisy"] += any(a.status == "noisy" for a in answers[entry.name])
        kinds[entry.kind] = kinds.get(entry.kind, 0) + 1
    naive = {"lets_through": sum(fooled.values()), "of": len(fooled)}
    return {"groups": groups, "kinds": kinds, "naive_checker": naive}


def summary_line(entries: Sequence[Entry], answers: Answers, fooled: Mapping[str, bool]) -> str:
    """The counts in one sentence."""
    counts = summary(entries, answers, fooled)
    parts = []
    for name, c in sorted(counts["groups"].items()):
        noisy = f" ({c['noisy']} of them noisy, so not measured to the end)" if c["noisy"] else ""
        parts.append(f"{name} answered rightly: {c['right']} of {c['files']}{noisy}")
    naive = counts["naive_checker"]
    if naive["of"]:
        parts.append(f"a naive checker lets {naive['lets_through']} of {naive['of']} cheats through")
    return "; ".join(parts)


def as_json(entries: Sequence[Entry], answers: Answers, fooled: Mapping[str, bool]) -> dict[str, Any]:
    """Everything, plain JSON values."""
    files = [
        {
            "file": entry.name,
            "kind": entry.kind,
            "expected": list(entry.answers),
            "answers": [dataclasses.asdict(a) for a in answers[entry.name]],
            "naive_checker_lets_it_through": fooled.get(entry.name),
        }
        for entry in entries
    ]
    return {"schema": SCHEMA, "files": files, "summary": summary(entries, answers, fooled)}
