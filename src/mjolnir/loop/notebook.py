"""The run that a reader's command means, opened: its ledger, and what was frozen at `init`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from mjolnir.errors import Refused
from mjolnir.store.git import Git
from mjolnir.store.ledger import Ledger, open_ledger
from mjolnir.store.ledger_files import find_tag
from mjolnir.store.run_state import RunState, read_run_state


@dataclass(frozen=True, slots=True, kw_only=True)
class Notebook:
    """The run that a command means, as its reader finds it. `ledger` is None where there is no run.

    `state` is what `init` froze; None for a ledger of mjolnir-cli 0.2.0, or where it cannot be read (a notice says so).
    """

    git: Git
    branch: str | None
    tag: str | None
    ledger: Ledger | None
    state: RunState | None
    notices: tuple[str, ...]

    @property
    def kernel(self) -> str:
        """The path of the kernel file; "." (every file) where nothing says which it is."""
        return self.state.kernel if self.state is not None else "."


def open_notebook(cwd: Path) -> Notebook:
    """The run around `cwd`: that of the branch, else the one whose ledger lies in the work tree.

    Raises Refused (no repository, an unreadable ledger, the ledger of another run), EnvironmentFault (no git).
    """
    git = Git.find(cwd)
    branch = git.branch()
    tag = find_tag(git.root, branch)
    if tag is None:
        return Notebook(git=git, branch=branch, tag=None, ledger=None, state=None, notices=())
    ledger = open_ledger(git.root, git.common_dir, tag=tag)
    state, trouble = _read_state(git, tag)
    problem = [f"{ledger.problem.message}; {ledger.problem.hint}"] if ledger.problem is not None else []
    notices = (*ledger.notices, *problem, *trouble)
    return Notebook(git=git, branch=branch, tag=tag, ledger=ledger, state=state, notices=notices)


def _read_state(git: Git, tag: str) -> tuple[RunState | None, list[str]]:
    """A reader goes on without the frozen configuration; only who measures must refuse."""
    try:
        return read_run_state(git.common_dir, tag), []
    except Refused as problem:
        return None, [] if problem.code == "E_RUN" else [f"{problem.message}; {problem.hint}"]
