"""The preconditions of a run, one line each: what was found, and what to type when something is missing."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

import mjolnir
from mjolnir.config import CONFIG_NAME, INTERPRETER, Config, TargetSection, read_config
from mjolnir.errors import ConfigFault, MjolnirError, Refused
from mjolnir.store.git import Git
from mjolnir.store.git_command import call_git
from mjolnir.targets.protocol import Check, load_target, resolve_target_name

MIN_FREE_BYTES = 1 << 30
"""Ledger, run documents and logs of a night are some megabytes; under this a disk is about to be full anyway."""
MAX_KERNEL_BYTES = 1 << 20
"""What `evaluate` accepts as a kernel file (E_NOT_REGULAR)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """`ok`: nothing required is missing. A check that is ok and has a hint is a warning."""

    target: str
    checks: tuple[Check, ...]

    @property
    def ok(self) -> bool:
        return all(check.ok for check in self.checks)


def diagnose(cwd: Path, target_name: str | None = None) -> Diagnosis:
    """Each precondition of measuring on a target; None: the one that mjolnir.toml names, else the one found here.

    Works outside a repository. Raises EnvironmentFault when no such target is installed.
    """
    repository, git = _check_repository(cwd)
    checks = [_check_git(cwd), repository]
    config = Config()
    if git is not None:
        config_check, read = _check_config(git.root)
        checks.append(config_check)
        config = read or config
    name = resolve_target_name(target_name or config.run.target)
    target = load_target(name, config)
    if git is not None:
        if name in config.targets or name == INTERPRETER:
            checks.append(_check_kernel(git.root, config.section(name)))
        checks.append(_check_installation(git.root))
    checks.append(_check_python())
    checks += target.checks()
    checks += [_check_disk(git.root if git is not None else cwd), _check_load()]
    return Diagnosis(target=name, checks=tuple(checks))


def _check_git(cwd: Path) -> Check:
    try:
        found = call_git(["--version"], cwd).decode("utf-8", "replace").strip().removeprefix("git version ")
    except MjolnirError as e:
        return Check(name="git", ok=False, found=e.message, hint=e.hint)
    return Check(name="git", ok=True, found=found)


def _check_repository(cwd: Path) -> tuple[Check, Git | None]:
    name = "repository"
    try:
        git = Git.find(cwd)
    except Refused as e:
        if e.code != "E_REPOSITORY":
            return Check(name=name, ok=False, found=e.message, hint=e.hint), None
        hint = "make a research repository: mjolnir new DIR"
        return Check(name=name, ok=True, found=f"none: {e.message}", hint=hint), None
    except MjolnirError as e:
        return Check(name=name, ok=False, found="not looked for, without git", hint=e.hint), None
    branch = git.branch()
    if git.head() is None:
        return Check(name=name, ok=False, found=f"{git.root}, without a commit", hint="commit the kernel first"), git
    return Check(name=name, ok=True, found=f"{git.root}, {f'branch {branch}' if branch else 'detached HEAD'}"), git


def _check_config(root: Path) -> tuple[Check, Config | None]:
    try:
        config = read_config(root)
    except ConfigFault as e:
        return Check(name=CONFIG_NAME, ok=False, found=e.message, hint=e.hint), None
    return Check(name=CONFIG_NAME, ok=True, found=f"rule {config.run.rule}, sandbox {config.run.sandbox}"), config


def _check_kernel(root: Path, section: TargetSection) -> Check:
    """The work tree's file; what a commit holds is checked again by `evaluate`."""
    path, name = root / section.kernel, "kernel file"
    if path.is_symlink():
        found, hint = "a symbolic link", "replace it by the file it points to"
    elif not path.is_file():
        found, hint = "missing", f"write it, or mend [targets] kernel in {CONFIG_NAME}"
    elif path.stat().st_size > MAX_KERNEL_BYTES:
        found, hint = f"{path.stat().st_size:,} bytes", f"keep it under {MAX_KERNEL_BYTES:,} bytes"
    elif path.stat().st_mode & 0o111:
        found, hint = "an executable file", f"chmod -x '{section.kernel}'"
    elif not os.access(path, os.R_OK):
        found, hint = "unreadable", f"chmod u+r '{section.kernel}'"
    else:
        return Check(name=name, ok=True, found=f"{section.kernel}, {path.stat().st_size:,} bytes")
    return Check(name=name, ok=False, found=f"{section.kernel}: {found}", hint=hint)


def _check_installation(root: Path) -> Check:
    """A judge that lies among the files that an agent edits is a judge that the agent can edit."""
    package = Path(mjolnir.__file__).resolve().parent
    if not package.is_relative_to(root.resolve()):
        return Check(name="harness", ok=True, found=f"outside this repository, {package}")
    return Check(
        name="harness",
        ok=True,
        found=f"INSIDE this repository, {package}: an agent that works here can change its own judge",
        hint="install mjolnir outside, and work in a repository of its own: mjolnir new DIR",
    )


def _check_python() -> Check:
    return Check(name="python", ok=True, found=f"{platform.python_version()}, {sys.executable}")


def _check_disk(folder: Path) -> Check:
    free_bytes = shutil.disk_usage(folder).free
    found = f"{free_bytes / 2**30:.1f} GiB free"
    ok = free_bytes >= MIN_FREE_BYTES
    return Check(name="disk", ok=ok, found=found, hint="" if ok else "free some space: a full disk stops the ledger")


def _check_load() -> Check:
    """Runnable processes, averaged over the last minute."""
    try:
        load = os.getloadavg()[0]
    except OSError:
        return Check(name="load", ok=True, found="unknown")
    cores = os.cpu_count() or 1
    is_quiet = load < cores / 2
    hint = "" if is_quiet else "other work makes a measurement noisy: wait for it, or stop it"
    return Check(name="load", ok=True, found=f"{load:.1f} on {cores} cores", hint=hint)
