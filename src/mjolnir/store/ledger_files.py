"""Where a run's ledger lives: the work tree's file and its view, the mirror, the lock, the anchor."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from mjolnir.errors import Refused
from mjolnir.store.anchor import anchor_path
from mjolnir.store.codec import decode_tail_keys
from mjolnir.store.row_file import RowFile
from mjolnir.store.tag import owner_of, require_tag, tag_of_branch

RESEARCH = "research"
LEDGER = f"{RESEARCH}/ledger.jsonl"
VIEW = f"{RESEARCH}/ledger.tsv"
RUNS_FOLDER = "mjolnir"
"""Inside the git directory that all work trees share."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerFiles:
    """Paths of one run; nothing is created by asking for them. `anchor` is None where the user has no home."""

    research: Path
    ledger: RowFile
    view: Path
    folder: Path
    mirror: RowFile
    lock: Path
    stamp: Path
    writers: Path
    anchor: Path | None

    def is_shared(self) -> bool:
        """True when other users write to this repository too."""
        info = self.folder.parent.parent.stat()
        return info.st_uid != os.geteuid() or bool(info.st_mode & 0o022)


def ledger_files(root: Path, common_dir: Path, tag: str) -> LedgerFiles:
    """The files of the run `tag`. Raises UsageFault for a bad tag, Refused E_LEDGER when research/ is not a folder."""
    folder = run_folder(common_dir, tag)
    return LedgerFiles(
        research=_require_folder(root / RESEARCH),
        ledger=live_ledger(root),
        view=root / VIEW,
        folder=folder,
        mirror=RowFile(path=folder / "ledger.jsonl", shown=f"the ledger's mirror {folder / 'ledger.jsonl'}"),
        lock=folder / "lock",
        stamp=folder / "view.json",
        writers=folder / "writers",
        anchor=anchor_path(common_dir, tag),
    )


def run_folder(common_dir: Path, tag: str) -> Path:
    """<git common dir>/mjolnir/<tag>. Raises UsageFault for a bad tag."""
    return common_dir / RUNS_FOLDER / require_tag(tag)


def live_ledger(root: Path) -> RowFile:
    """The work tree's ledger."""
    return RowFile(path=root / LEDGER, shown=LEDGER)


def ledger_owner(root: Path) -> str | None:
    """The tag of the run whose rows the work tree's ledger holds; None when it is missing, empty or does not say.

    Raises Refused E_LEDGER when it cannot be read.
    """
    ledger = live_ledger(root)
    line = ledger.first_line()
    if not line:
        return None
    keys = ledger.decode_line(decode_tail_keys, 1, line)
    return owner_of(keys.run, keys.branch)


def find_tag(root: Path, branch: str | None) -> str | None:
    """The run that a command means: the branch's, else the one whose ledger lies in the work tree, else None."""
    return tag_of_branch(branch) or ledger_owner(root)


def _require_folder(path: Path) -> Path:
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return path
    if not stat.S_ISDIR(mode):
        kind = "a symbolic link" if stat.S_ISLNK(mode) else "not a folder"
        raise Refused("E_LEDGER", f"{path} is {kind}", f"move it away: mv {path} {path}.aside")
    return path
