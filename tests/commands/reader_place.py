"""A research repository with a run in it, written by the store itself: what the reading commands are called on."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mjolnir.config import Config
from mjolnir.core.model import Experiment, Status
from mjolnir.store.ledger import Ledger, open_ledger, start_ledger
from mjolnir.store.run_state import RunState, write_run_state

KERNEL = "src/mjolnir_kernel/cpu_decode.py"
TAG = "oct11"
VERSION_0 = Path(__file__).parents[1] / "fixtures" / "ledger_v0" / "ledger.jsonl"
HOSTILE = "[/=] [bold]x \x1b[31mred\x1b[0m \x00nul\nnew\tline \u202ertl | <script>alert(1)</script> =1+1"


@dataclass
class ReaderPlace:
    """`commits`: the kernel's commits so far, oldest first."""

    root: Path
    commits: list[str] = field(default_factory=list)

    def git(self, *words: str) -> str:
        done = subprocess.run(["git", *words], cwd=self.root, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    def commit_kernel(self, text: str) -> str:
        path = self.root / KERNEL
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        self.git("add", "--", KERNEL)
        self.git("commit", "-q", "-m", "kernel")
        self.commits.append(self.git("rev-parse", "HEAD"))
        return self.commits[-1]

    def start_run(self) -> None:
        """Branch, frozen state and empty ledger of the run TAG."""
        self.git("switch", "-q", "-c", f"autoresearch/{TAG}")
        config = Config()
        state = RunState(
            tag=TAG, branch=f"autoresearch/{TAG}", base="main", base_commit=self.commits[-1], target="cpu", rule="seed",
            min_gain=0.05, kernel=KERNEL, config=config.judging_values(), config_hash=config.judging_hash(),
            harness_hash="0" * 64, created="2026-03-01T00:00:00+00:00",
        )  # fmt: skip
        run_hash = write_run_state(self.root / ".git", state)
        start_ledger(self.root, self.root / ".git", tag=TAG, run_hash=run_hash)

    @property
    def ledger(self) -> Ledger:
        return open_ledger(self.root, self.root / ".git", tag=TAG)

    def append(self, status: str, *, ratio: float = 1.0, **values: Any) -> Experiment:
        """A row on the newest commit, judged against the newest champion; `ratio`: its speedup over the reference."""
        champion = next((row for row in reversed(self.ledger.rows()) if row.status in ("baseline", "keep")), None)
        is_scored = status in ("baseline", "keep", "discard", "noisy")
        lengths = {"128": ratio, "4096": ratio} if is_scored else {}
        before = champion.per_L if champion is not None else {}
        defaults: dict[str, Any] = {
            "ts": "2026-03-01T00:05:00+00:00",
            "branch": f"autoresearch/{TAG}",
            "commit": self.commits[-1][:7],
            "commit_full": self.commits[-1],
            "parent_full": self.commits[-2] if len(self.commits) > 1 else None,
            "champion_id": champion.id if champion is not None else None,
            "champion_commit": champion.commit_full if champion is not None else None,
            "reason": "because",
            "score": ratio if is_scored else None,
            "correctness": "pass" if is_scored else None,
            "per_L": lengths,
            "fi_us": {key: 100.0 for key in lengths},
            "mj_us": {key: 100.0 / value for key, value in lengths.items()},
            "vs_best": {key: value / before[key] for key, value in lengths.items() if key in before},
            "agent": "tester",
            "hypothesis": f"idea at {ratio:g}",
            "target": "cpu",
        }
        return self.ledger.append(Experiment(id=0, status=Status(status), **(defaults | values)))


def make_place(root: Path) -> ReaderPlace:
    """A repository with a kernel and one more file, on main."""
    root.mkdir(parents=True)
    place = ReaderPlace(root)
    place.git("init", "-q", "-b", "main")
    (root / ".gitignore").write_text("/research/\n")
    place.git("add", "--", ".gitignore")
    place.commit_kernel("def decode(): pass\n")
    return place


def make_run(root: Path) -> ReaderPlace:
    """A run with baseline, keep, discard, crash and a hostile discard."""
    place = make_place(root)
    place.start_run()
    place.append("baseline", ratio=0.5, hypothesis="baseline: the starting kernel")
    place.commit_kernel("def decode(): return 2\n")
    place.append("keep", ratio=1.5, hypothesis="page tiles", sources=["https://arxiv.org/abs/1", "javascript:alert(1)"])
    place.append("discard", ratio=1.4)
    place.append("crash", reason="no score (a stage failed)")
    place.append("discard", ratio=1.45, hypothesis=HOSTILE, reason=HOSTILE, agent=HOSTILE)
    return place
