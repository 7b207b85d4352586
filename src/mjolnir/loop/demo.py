"""The script of `mjolnir demo`: one experiment that is kept, one that is wrong, one that changes nothing."""

from __future__ import annotations

import contextlib
import tempfile
from dataclasses import dataclass
from pathlib import Path

from mjolnir.config import TARGET_DEFAULTS
from mjolnir.core.model import Experiment, Status
from mjolnir.core.progress import champion
from mjolnir.errors import FindingsError
from mjolnir.loop.notebook import open_notebook
from mjolnir.loop.scaffold import Scaffold, kernel_template, make_research_repository
from mjolnir.store.git import Git
from mjolnir.store.git_command import call_git

TAG = "demo"
TARGET = "cpu"
LENGTHS_TOKENS = (128, 1024, 4096)
WORKER_PAIRS = 1
"""Short lengths and one pair of processes: a tour has to be over in a minute. A real run measures more."""
MAX_TRIES = 3
"""Measurements of one experiment when the machine is too busy to tell."""
REFUSAL = "E_SAME_PROGRAM"
KERNEL = TARGET_DEFAULTS[TARGET].kernel
_FASTER = "examples/cpu_decode_tiled.py"
_SHOWN_CHANGES = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoStep:
    """One experiment: `kernel` is the file's new text, `expected` the verdict, None for a refusal with REFUSAL."""

    story: str
    hypothesis: str
    kernel: str
    expected: Status | None

    @property
    def ending(self) -> str:
        return self.expected.value if self.expected is not None else "refused"


def demo_steps() -> tuple[DemoStep, ...]:
    """The three experiments, in order. Each starts from the champion of that moment."""
    faster = kernel_template(_FASTER)
    return (
        DemoStep(
            story="A kernel that really is faster. It should be kept.",
            hypothesis="decode each tile of K and V once, by arithmetic, and share it between the heads of a group",
            kernel=faster,
            expected=Status.KEEP,
        ),
        DemoStep(
            story=(
                "A shortcut that is right at every length of the sweep and wrong at 17 tokens. It should be discarded, "
                "whatever its speed."
            ),
            hypothesis="always take whole tiles: every length of the sweep is a multiple of 32",
            kernel=_edited(faster, "count = min(TILE, used - slot)", "count = TILE"),
            expected=Status.DISCARD,
        ),
        DemoStep(
            story="Another name and a comment: the same program. It should be refused, and not measured a second time.",
            hypothesis="a clearer name for the tokens in use",
            kernel=_renamed(faster),
            expected=None,
        ),
    )


def _renamed(text: str) -> str:
    text = _edited(text, "used = min(", "# The last page of a row is rarely full.\n        filled = min(")
    return _edited(_edited(text, "range(0, used, TILE)", "range(0, filled, TILE)"), "used - slot", "filled - slot")


def _edited(text: str, old: str, new: str) -> str:
    if text.count(old) != 1:
        raise AssertionError(f"{_FASTER} must hold {old!r} once")
    return text.replace(old, new)


def make_demo_repository(folder: Path | None) -> Scaffold:
    """The tour's repository, in `folder` or in a fresh temporary folder, which stays. Raises as `mjolnir new`."""
    place = folder or Path(tempfile.mkdtemp(prefix="mjolnir-demo-"))
    try:
        return make_research_repository(place, TARGET, lengths_tokens=LENGTHS_TOKENS, worker_pairs=WORKER_PAIRS)
    except BaseException:
        if folder is None:
            with contextlib.suppress(OSError):
                place.rmdir()
        raise


def commit_kernel(root: Path, step: DemoStep) -> str:
    """Write and commit the step's kernel. Returns the changed lines when they are few, else their count."""
    git = Git.find(root)
    before = git.head()
    (root / KERNEL).write_text(step.kernel, encoding="utf-8")
    after = git.commit(step.hypothesis, [KERNEL])
    lines = git.diff(before or after, after, KERNEL, context=0).splitlines()
    changed = [line for line in lines if line[:1] in ("+", "-") and not line.startswith(("+++", "---"))]
    if len(changed) > _SHOWN_CHANGES:
        return f"  ({len(changed)} changed lines)"
    return "\n".join(f"  {line}" for line in changed)


def rows_of(root: Path) -> list[Experiment]:
    """The experiments on the ledger, newest last."""
    ledger = open_notebook(root).ledger
    return ledger.tail(ledger.count()) if ledger is not None else []


def require_ending(root: Path, step: DemoStep) -> None:
    """Raises FindingsError E_DEMO unless the newest row is what the step promised."""
    row = rows_of(root)[-1]
    if row.status is not step.expected:
        raise unexpected(root, f"{row.status.value} ({row.reason or 'no reason given'})", step)


def unexpected(root: Path, ending: str, step: DemoStep) -> FindingsError:
    """The error of a step that did not end as told."""
    return FindingsError(
        "E_DEMO",
        f"the demo told of {step.ending!r} and the experiment ended as {ending}: {step.hypothesis}",
        f"a busy machine can do this: see mjolnir doctor, then run the demo again; everything is in {root}",
    )


def is_noisy(root: Path) -> bool:
    """True when the newest measurement was not trusted and decided nothing."""
    return rows_of(root)[-1].status is Status.NOISY


def champion_commit(root: Path) -> str:
    """The full id of the commit that experiments start from."""
    best = champion(rows_of(root))
    assert best is not None, "the demo has a baseline"
    assert best.commit_full is not None, "every row of today has a full commit id"
    return best.commit_full


def go_back(root: Path, commit: str) -> None:
    """git reset --hard, in a repository that nobody works in."""
    call_git(["reset", "-q", "--hard", commit], root)
