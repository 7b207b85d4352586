"""Run by this project's Python: a long ledger, written at once instead of row by row.

    python bulk_ledger.py CHECKOUT COUNT

Appending 100,000 rows one by one costs three fsyncs a row. Here every line but the last is made with the store's own
encoder and hash, and written in one go to the ledger and its mirror; the anchor is the store's; the last row goes
through `Ledger.append`, which brings view, stamp and anchor up to date. tests/benchmarks shows that the files are, byte
for byte, those that as many appends leave.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from sample_run import BRANCH, LENGTHS, MIN_GAIN, TAG, Fact, make_facts

from mjolnir.core.model import Experiment, KeepPolicy, Rule, Status
from mjolnir.store.anchor import Anchor, anchor_path, read_anchor, write_anchor
from mjolnir.store.codec import SCHEMA, encode_row, row_hash, row_to_json
from mjolnir.store.ledger import Ledger, open_ledger
from mjolnir.store.ledger_files import LEDGER, run_folder

_DEVICE = {
    "name": "a device of the sample run",
    "machine": "aarch64",
    "system": "Linux",
    "cores": 14,
    "power_mode": "MAXN",
    "tools": {"python": "3.12.3", "numpy": "2.4.6", "ml_dtypes": "0.6.0", "numba": "0.68.1", "llvmlite": "0.48.0"},
}
_RULES = {"baseline": Rule.STARTING_KERNEL, "keep": Rule.GAIN, "noisy": Rule.REFERENCE_UNSTABLE}
_HEX = "0123456789abcdef" * 4


def our_row(fact: Fact, head: str) -> Experiment:
    """The keys that `evaluate` writes. A champion's commit is `head`, so that the branch stands where it should."""
    best = fact.champion
    policy = asdict(KeepPolicy(min_gain=MIN_GAIN, required=LENGTHS)) | {"required": list(LENGTHS)}
    return Experiment(
        id=fact.id,
        ts=fact.ts,
        branch=BRANCH,
        commit=(head if fact.status in ("baseline", "keep") else fact.commit)[:7],
        status=Status(fact.status),
        reason=fact.reason,
        score=_digits(fact.score),
        best_before=_digits(best.score) if best is not None else None,
        min_gain=MIN_GAIN,
        correctness="pass" if fact.is_correct else "fail",
        per_L=_all_digits(fact.per_length),
        fi_us=_all_digits(fact.reference_us),
        mj_us=_all_digits(fact.candidate_us),
        agent="autoresearch",
        hypothesis=fact.hypothesis,
        sources=fact.sources,
        verify_runs={"correctness": f"20251011-{fact.id:06d}-c", "sweep": f"20251011-{fact.id:06d}-s"},
        vs_best=_all_digits(fact.relative),
        target="cpu",
        device=_DEVICE,
        commit_full=head if fact.status in ("baseline", "keep") else fact.commit,
        parent_full=best.commit if best is not None else None,
        kernel_blob=fact.commit[::-1],
        program_hash=fact.commit + _HEX[:24],
        champion_id=best.id if best is not None else None,
        champion_commit=head if best is not None else None,
        rule=_RULES.get(fact.status) or _rule_of_reason(fact),
        params={"rule": "seed", **policy, "lengths": list(LENGTHS), "iters": None, "gate": True},
        judge={"status": fact.status, "reason": fact.reason},
        attempt=1,
        harness_hash=_HEX,
        config_hash=_HEX[::-1],
        seconds={"queue": 0.013, "correctness": 14.2, "sweep": 21.7, "total": 38.4},
    )


def _rule_of_reason(fact: Fact) -> Rule:
    if not fact.is_correct:
        return Rule.INCORRECT
    return Rule.STAGE_FAILED if fact.status == "crash" else Rule.GAIN_TOO_SMALL


def _digits(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.8g}")


def _all_digits(values: dict[str, float]) -> dict[str, float]:
    return {k: float(f"{v:.8g}") for k, v in values.items()}


def chained_lines(facts: Iterable[Fact], head: str) -> Iterator[tuple[bytes, str]]:
    """(line, its hash) for each fact, each row holding the hash of the one before."""
    before: str | None = None
    for fact in facts:
        row = replace(our_row(fact, head), schema=SCHEMA, run=TAG, prev=before)
        before = row_hash(row_to_json(row))
        yield encode_row(replace(row, hash=before)), before


def write_ledger(root: Path, common_dir: Path, count: int, head: str) -> Ledger:
    """Fill the ledger of the started run TAG, which has no rows yet, with `count` rows. Raises FileExistsError."""
    facts = list(make_facts(count))
    if count > 1:
        _write_at_once(root / LEDGER, common_dir, chained_lines(facts[:-1], head), count - 1)
    ledger = open_ledger(root, common_dir, tag=TAG)
    ledger.append(our_row(facts[-1], head))
    return ledger


def _write_at_once(path: Path, common_dir: Path, lines: Iterable[tuple[bytes, str]], count: int) -> None:
    """Ledger, mirror and anchor of `count` lines."""
    mirror = run_folder(common_dir, TAG) / path.name
    anchor = anchor_path(common_dir, TAG)
    if anchor is None:
        raise RuntimeError("this user has no state folder, so the ledger can have no anchor")
    known = read_anchor(anchor) or Anchor()
    for file in (path, mirror):
        file.parent.mkdir(parents=True, exist_ok=True)
    with path.open("xb") as ledger, mirror.open("xb") as copy:
        for line, digest in lines:
            ledger.write(line)
            copy.write(line)
            known = replace(known, size_bytes=known.size_bytes + len(line), last_hash=digest)
    write_anchor(anchor, replace(known, rows=count))


def _pin_rows(root: Path, count: int, head: str) -> None:
    """A ref for each row, as `evaluate` makes one, packed as git's own housekeeping leaves them."""
    _git(root, "update-ref", "--stdin", words=[f"create refs/mjolnir/{TAG}/{n} {head}" for n in range(1, count + 1)])
    _git(root, "pack-refs", "--all")


def _git(root: Path, *command: str, words: Iterable[str] = ()) -> str:
    lines = "".join(f"{word}\n" for word in words)
    done = subprocess.run(["git", "-C", str(root), *command], input=lines, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def common_dir_of(root: Path) -> Path:
    """The git directory that all work trees of `root` share."""
    return (root / _git(root, "rev-parse", "--git-common-dir")).resolve()


def main(words: list[str]) -> None:
    root, count = Path(words[0]).resolve(), int(words[1])
    head = _git(root, "rev-parse", "HEAD")
    ledger = write_ledger(root, common_dir_of(root), count, head)
    _pin_rows(root, count, head)
    state: Any = ledger.verify()
    if not state.ok:
        raise state.problem
    print(state.rows)


if __name__ == "__main__":
    main(sys.argv[1:])
