"""A new research repository: kernel, programme, configuration and first commit. The harness stays outside it."""

from __future__ import annotations

import contextlib
import os
import shutil
import string
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from importlib.metadata import entry_points
from pathlib import Path, PurePosixPath

from mjolnir.config import CONFIG_NAME, TARGET_DEFAULTS, parse_config
from mjolnir.errors import EnvironmentFault, Refused
from mjolnir.store.git import Git
from mjolnir.store.git_command import call_git, failure, run_git
from mjolnir.targets.protocol import ENTRY_POINT_GROUP

PROGRAM_PATH = "research/program.md"
BASE_BRANCH = "main"
FALLBACK_NAME = "mjolnir"
FALLBACK_EMAIL = "mjolnir@localhost"
"""Author of commits in a new repository where git knows no user: without one, an agent's commit fails."""
_KERNEL_PACKAGE = "mjolnir_kernel"
_CPU_WORDS = {
    "imports": "One thread. Imports: numpy, numba, ml_dtypes, math, typing, functools, dataclasses, itertools, enum.",
    "attempt": '`mjolnir verify correctness --quick`, then `mjolnir verify sweep --ls "128 4096"`',
}
_GPU_WORDS = {
    "imports": "Imports: torch, triton, triton.language, math, typing, functools, dataclasses, itertools, enum.",
    "attempt": "`mjolnir verify correctness --target interpreter --quick`, then `mjolnir verify static`",
}
_WORDS: Mapping[str, Mapping[str, str]] = {"cpu": _CPU_WORDS, "cuda": _GPU_WORDS, "thor": _GPU_WORDS}
"""What research/program.md says on each target that this package can scaffold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scaffold:
    """What `mjolnir new` made. `files` are paths inside `root`; `notes` are for people."""

    root: Path
    target: str
    commit: str
    files: tuple[str, ...]
    notes: tuple[str, ...] = ()


def make_research_repository(
    folder: Path, target: str = "cpu", *, lengths_tokens: tuple[int, ...] = (), worker_pairs: int = 0
) -> Scaffold:
    """A research repository in `folder`, which must be missing or empty; when this fails, nothing is left behind.

    lengths_tokens and worker_pairs: empty and 0 take the target's defaults. Raises Refused when the folder is not
    empty, lies in another repository or cannot be written, and EnvironmentFault without git or with another target.
    """
    _require_known(target)
    root = Path(os.path.abspath(folder))
    _require_free(root)
    defaults = TARGET_DEFAULTS[target]
    files = {
        CONFIG_NAME: _config_text(target, lengths_tokens or defaults.lengths, worker_pairs or defaults.worker_pairs),
        ".gitignore": _template("gitignore"),
        "README.md": _template("README.md"),
        PROGRAM_PATH: string.Template(_template("program.md")).substitute(kernel=defaults.kernel, **_WORDS[target]),
        defaults.kernel: kernel_template(PurePosixPath(defaults.kernel).name),
    }
    with _all_or_nothing(root):
        for name, text in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        commit, notes = _first_commit(root, tuple(files), target)
    return Scaffold(
        root=root, target=target, commit=commit, files=tuple(files), notes=(*notes, *_installed_note(target))
    )


def kernel_template(name: str) -> str:
    """The text of a file of the kernel package, such as "examples/cpu_decode_tiled.py"; it is never run here."""
    return resources.files(_KERNEL_PACKAGE).joinpath(name).read_text(encoding="utf-8")


def _template(name: str) -> str:
    return resources.files("mjolnir").joinpath("scaffold", name).read_text(encoding="utf-8")


def _config_text(target: str, lengths_tokens: tuple[int, ...], worker_pairs: int) -> str:
    template = "mjolnir-cpu.toml" if target == "cpu" else "mjolnir-gpu.toml"
    text = string.Template(_template(template)).substitute(
        target=target, lengths=str(list(lengths_tokens)), worker_pairs=str(worker_pairs)
    )
    parse_config(text)
    return text


def _require_known(target: str) -> None:
    """Raises EnvironmentFault for a target without a starting kernel."""
    if target not in _WORDS:
        known = ", ".join(_WORDS)
        raise EnvironmentFault(
            "E_TARGET", f"there is no starting kernel for the target {target!r}", f"choose one of: {known}"
        )


def _installed_note(target: str) -> tuple[str, ...]:
    """A word to who makes a repository for a device that this installation cannot measure."""
    if any(e.name == target for e in entry_points(group=ENTRY_POINT_GROUP)):
        return ()
    without = "what needs no GPU works: mjolnir verify static, mjolnir verify correctness --target interpreter"
    return (f"no target {target!r} is installed here, so no run can be measured; {without}",)


def _require_free(root: Path) -> None:
    """Raises Refused unless a repository can be made at `root`."""
    if root.exists() and not root.is_dir():
        raise _refused(f"{root} is a file", "choose another folder: mjolnir new DIR")
    if root.is_symlink() and not root.exists():
        raise _refused(f"{root} is a broken link", "remove it, or choose another folder")
    existing = next(folder for folder in (root, *root.parents) if folder.is_dir())
    if not os.access(existing, os.R_OK | os.W_OK | os.X_OK):
        raise _refused(f"{existing} cannot be written by this user", "choose another folder, or mend its permissions")
    if existing == root and any(root.iterdir()):
        raise _refused(f"{root} is not empty", "choose a new folder: mjolnir new DIR")
    if _is_in_repository(existing):
        hint = "choose a folder outside it: a kernel's history is a repository of its own"
        raise _refused(f"{root} lies inside another git repository", hint)


def _refused(message: str, hint: str) -> Refused:
    return Refused("E_FOLDER", message, hint)


def _is_in_repository(folder: Path) -> bool:
    """True also inside a bare repository, a git directory, and a repository of another user."""
    found = run_git(["rev-parse", "--absolute-git-dir"], folder)
    return found.ok or failure("rev-parse", found, folder).code != "E_REPOSITORY"


@contextlib.contextmanager
def _all_or_nothing(root: Path) -> Iterator[None]:
    """Makes `root`; whatever ends the block early, Ctrl-C included, takes with it all that was made."""
    missing = [folder for folder in (root, *root.parents) if not folder.exists()]
    try:
        root.mkdir(parents=True, exist_ok=True)
        yield
    except BaseException as e:
        _remove(root, missing)
        if isinstance(e, OSError):
            what = f"{root} could not be written: {e.strerror or e}"
            raise _refused(what, "free some disk, or choose another folder") from e
        raise


def _remove(root: Path, missing: list[Path]) -> None:
    """Remove the outermost folder that was missing; of a folder that was there empty, its contents alone."""
    if missing:
        shutil.rmtree(missing[-1], ignore_errors=True)
        return
    for child in root.iterdir():
        if child.is_dir() and not child.is_symlink():
            shutil.rmtree(child, ignore_errors=True)
        else:
            child.unlink(missing_ok=True)


def _first_commit(root: Path, files: Sequence[str], target: str) -> tuple[str, tuple[str, ...]]:
    """(full commit id, notes)."""
    git = Git.init_repository(root, branch=BASE_BRANCH)
    notes: tuple[str, ...] = ()
    if not run_git(["var", "GIT_COMMITTER_IDENT"], root).ok:
        call_git(["config", "user.name", FALLBACK_NAME], root)
        call_git(["config", "user.email", FALLBACK_EMAIL], root)
        notes = (f"git knows no user here: commits of this repository carry {FALLBACK_NAME} <{FALLBACK_EMAIL}>",)
    return git.commit(f"Starting kernel and programme for the {target} target", files), notes
