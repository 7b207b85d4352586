"""The run that a command means: its frozen state, its ledger and its repository, opened once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import mjolnir
from mjolnir.config import Config, TargetSection, build_config
from mjolnir.core.model import Experiment, RowGlance
from mjolnir.core.progress import champion
from mjolnir.errors import Refused
from mjolnir.store.git import Git
from mjolnir.store.ledger import Ledger, open_ledger
from mjolnir.store.ledger_files import ledger_owner
from mjolnir.store.run_state import RunState, list_tags, read_run_state
from mjolnir.store.tag import branch_of, tag_of_branch


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenRun:
    """`config` is the frozen configuration, never the one that lies in the work tree."""

    git: Git
    state: RunState
    config: Config
    ledger: Ledger

    @property
    def section(self) -> TargetSection:
        """The frozen [targets.NAME] of the run's target."""
        return self.config.targets[self.state.target]

    def champion(self, glances: list[RowGlance]) -> Experiment | None:
        """The newest keep or baseline among `glances`, read whole. Raises Refused E_LEDGER."""
        glance = champion(glances)
        return None if glance is None else self.ledger.row(glance.id)


def open_run(cwd: Path, notice: Callable[[str], None]) -> OpenRun:
    """The run whose branch is checked out around `cwd`. What the ledger had to mend is told to `notice`.

    Raises Refused: E_REPOSITORY, E_NO_COMMITS, E_LINEAGE (detached HEAD), E_RUN (no run's branch), E_CONFIG, E_LEDGER.
    """
    git = Git.find(cwd)
    if git.head() is None:
        raise Refused("E_NO_COMMITS", f"{git.root} has no commit yet", "git add FILES && git commit, then init a run")
    state = read_run_state(git.common_dir, _require_tag(git))
    ledger = open_ledger(git.root, git.common_dir, tag=state.tag)
    for text in ledger.notices:
        notice(text)
    ledger.notices.clear()
    return OpenRun(git=git, state=state, config=build_config(state.config, where="run.json"), ledger=ledger)


def is_tool_inside(root: Path) -> bool:
    """True when the installed mjolnir lies in the repository that an agent edits."""
    return Path(mjolnir.__file__).resolve().is_relative_to(root.resolve())


def _require_tag(git: Git) -> str:
    """The tag whose branch is checked out."""
    branch = git.branch()
    tag = tag_of_branch(branch)
    if tag is not None:
        return tag
    known = ledger_owner(git.root) or next(iter(list_tags(git.common_dir)), None)
    if known is None:
        raise Refused("E_RUN", f"there is no run in {git.root}", "start one: mjolnir autoresearch init TAG")
    hint = f"git switch {branch_of(known)}"
    if branch is None:
        raise Refused("E_LINEAGE", "HEAD is detached: an experiment is a commit on its run's branch", hint)
    raise Refused("E_RUN", f"the branch {branch} is no run's", f"{hint}, or start a run: mjolnir autoresearch init TAG")
