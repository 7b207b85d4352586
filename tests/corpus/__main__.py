"""`make corpus`: every file of a corpus on the cpu target, and a naive checker beside it. Exit 1 on a wrong answer."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterable
from pathlib import Path

from corpus.entry import FOLDER, Entry, cheats, read_folder
from corpus.harness import Answer, Harness
from corpus.naive_checker import is_fooled
from corpus.report import as_json, summary_line, table


def main() -> int:
    args = _arguments()
    folders = args.folders or [FOLDER]
    entries = [e for folder in folders for e in read_folder(folder) if args.match in e.name]
    harness = Harness()
    answers: dict[str, list[Answer]] = {e.name: [] for e in entries}
    for run in range(args.runs):
        for number, entry in enumerate(entries, 1):
            answer = harness.answer(entry)
            answers[entry.name].append(answer)
            verdict = f"WRONG ({answer.wrong})" if answer.wrong else "right"
            where = f"run {run + 1}/{args.runs}, {number}/{len(entries)}"
            _say(f"{where} {entry.name}: {answer.status} {answer.code} {verdict}")
    fooled = {} if args.no_naive else _ask_naive(cheats(entries))
    print(table(entries, answers, fooled))
    print(summary_line(entries, answers, fooled))
    if args.json is not None:
        args.json.write_text(json.dumps(as_json(entries, answers, fooled), indent=1) + "\n")
    return int(any(a.wrong for of_entry in answers.values() for a in of_entry))


def _ask_naive(entries: Iterable[Entry]) -> dict[str, bool]:
    fooled = {}
    for entry in entries:
        fooled[entry.name] = is_fooled(entry.path)
        _say(f"naive checker, {entry.name}: {'lets it through' if fooled[entry.name] else 'finds it'}")
    return fooled


def _say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


def _arguments() -> argparse.Namespace:
    p = argparse.ArgumentParser(prog="make corpus", description=__doc__)
    p.add_argument("folders", nargs="*", type=Path, help="folders of kernels (default: tests/bad_kernels)")
    p.add_argument("--runs", type=int, default=1, help="how often, each time with new seeds")
    p.add_argument("--match", default="", help="only files whose name holds this text")
    p.add_argument("--no-naive", action="store_true", help="leave the naive checker out")
    p.add_argument("--json", type=Path, help="write every answer there")
    return p.parse_args()


if __name__ == "__main__":
    sys.exit(main())
