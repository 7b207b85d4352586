"""Repositories for both tools: each gets a real git repository on its run's branch, with the same experiments in it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from child_cost import run_child
from peer import PEER_PYTHON
from sample_run import BRANCH, TAG

HERE = Path(__file__).resolve().parent
OUR_PYTHON = Path(sys.executable)
OUR_COMMAND = OUR_PYTHON.parent / "mjolnir"
_PEER_MARKER = "docker/vllm-thor/Dockerfile"
_PEER_KERNEL = "src/mjolnir/mjolnir/t5_decode.py"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A scratch folder: the home, state folder and git identity of everything that is measured."""

    folder: Path

    @property
    def env(self) -> Mapping[str, str]:
        """The same for both tools, and nothing of the user's own settings but what steers the BLAS library."""
        home = self.folder / "home"
        home.mkdir(exist_ok=True)
        kept = {k: v for k, v in os.environ.items() if k.startswith("OPENBLAS_")}
        people = {
            f"GIT_{role}_{what}": "bench@localhost" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
        }
        return (
            kept
            | people
            | {
                "PATH": os.environ["PATH"],
                "HOME": str(home),
                "XDG_STATE_HOME": str(home / "state"),
                "GIT_CONFIG_NOSYSTEM": "1",
                "LANG": "C.UTF-8",
                "TERM": "dumb",
                "COLUMNS": "120",
            }
        )


def make_our_checkout(place: Place, name: str, rows: int) -> Path:
    """A research repository made by the tool itself, its run's ledger filled with `rows` rows."""
    root = make_our_run(place, name)
    run_child([OUR_PYTHON, HERE / "bulk_ledger.py", root, str(rows)], cwd=root, env=place.env)
    return root


def make_our_run(place: Place, name: str) -> Path:
    """A research repository with a started run that has no rows."""
    root = place.folder / name
    run_child([OUR_COMMAND, "new", root, "--target", "cpu"], cwd=place.folder, env=place.env)
    run_child([OUR_COMMAND, "autoresearch", "init", TAG, "--no-baseline"], cwd=root, env=place.env)
    return root


def make_peer_checkout(place: Place, name: str, rows: int) -> Path:
    """What the peer takes for its own checkout: its marker, its kernel file, its branch and a ledger it wrote."""
    root = place.folder / name
    for file in (_PEER_MARKER, _PEER_KERNEL):
        (root / file).parent.mkdir(parents=True)
        (root / file).write_text("# a stand-in of the benchmark\n", encoding="utf-8")
    (root / ".gitignore").write_text("/research/\n", encoding="utf-8")
    for words in (
        ["init", "-q", "-b", "main"],
        ["add", "-A"],
        ["commit", "-q", "-m", "start"],
        ["checkout", "-q", "-b", BRANCH],
    ):
        subprocess.run(["git", "-C", str(root), *words], env=dict(place.env), check=True)
    run_child([PEER_PYTHON, HERE / "peer_rows.py", "write", root, str(rows)], cwd=root, env=place.env)
    return root
