"""How git is called: nothing that a repository's configuration names is ever run, and an error is two clear lines.

Hooks, fsmonitor, pagers, external diffs, textconv, filters, signers, ssh and lazy fetches are commands in the hands of
whoever can write .git/config, which includes the agent. Replace refs, grafts and commit graphs are ways to show another
history than the commits hold; all of them are switched off for every call.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from mjolnir import process
from mjolnir.errors import EnvironmentFault, MjolnirError, Refused
from mjolnir.store.foreign_text import one_line

_SETTINGS = (
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.pager=cat",
    "core.editor=false",
    "core.askPass=",
    "core.sshCommand=false",
    "core.commitGraph=false",
    "core.useReplaceRefs=false",
    "core.quotePath=false",
    "credential.helper=",
    "protocol.allow=never",
    "diff.external=",
    "log.showSignature=false",
    "commit.gpgSign=false",
    "gpg.program=false",
    "gpg.ssh.program=false",
    "submodule.recurse=false",
    "gc.auto=0",
    "maintenance.auto=false",
)
_OPTIONS = ("--no-replace-objects", "--no-optional-locks", "--literal-pathspecs", "--no-pager")
_KEPT = re.compile(r"GIT_(CONFIG_(GLOBAL|SYSTEM|NOSYSTEM)|CEILING_DIRECTORIES|(AUTHOR|COMMITTER)_(NAME|EMAIL|DATE))")
"""The only GIT_ variables that reach git: the rest can point it at another index, object store or program."""
_ALWAYS = {
    "LC_ALL": "C",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_GRAFT_FILE": "/dev/null/none",
    "GIT_EDITOR": "false",
}
_OWNER = re.compile(r"dubious ownership in repository at '(.+)'")
_LOCK = re.compile(r"Unable to create '(.+?\.lock)': File exists", re.DOTALL)


def run_git(
    args: Sequence[str],
    cwd: Path,
    *,
    stdin: bytes = b"",
    overrides: Iterable[tuple[str, str]] = (),
    extra_env: Mapping[str, str] | None = None,
) -> process.Finished:
    """One hardened call, whatever its exit status. `overrides` are further configuration values.

    Raises EnvironmentFault E_GIT when there is no git or it hangs, Refused E_REPOSITORY when `cwd` is no folder.
    """
    settings = [part for value in _SETTINGS for part in ("-c", value)]
    try:
        finished = process.run(
            ["git", *_OPTIONS, *settings, *args], cwd=cwd, env=_environment(overrides, extra_env or {}), stdin=stdin
        )
    except (FileNotFoundError, NotADirectoryError) as e:
        if not cwd.is_dir():
            raise Refused("E_REPOSITORY", f"{cwd} is not a folder", "cd into a research repository") from e
        raise EnvironmentFault(
            "E_GIT", "git is not installed, or not on PATH", "install git, then run this again"
        ) from e
    if finished.timed_out:
        raise EnvironmentFault("E_GIT", f"git {args[0]} did not end", f"see what holds it: git -C {cwd} {args[0]}")
    return finished


def call_git(
    args: Sequence[str],
    cwd: Path,
    *,
    stdin: bytes = b"",
    overrides: Iterable[tuple[str, str]] = (),
    extra_env: Mapping[str, str] | None = None,
) -> bytes:
    """stdout of a call that must succeed. Raises what `failure` makes of it when it does not."""
    finished = run_git(args, cwd, stdin=stdin, overrides=overrides, extra_env=extra_env)
    if not finished.ok:
        raise failure(args[0], finished, cwd)
    return finished.stdout


def failure(command: str, finished: process.Finished, cwd: Path) -> MjolnirError:
    """What git's complaint means for a person."""
    text = os.fsdecode(finished.stderr)
    lock = _LOCK.search(text)
    if lock is not None:
        return Refused(
            "E_STALE_LOCK",
            f"git's lock file {one_line(lock[1])} is there: another git runs, or one was killed",
            f"if no other git is running: rm '{one_line(lock[1])}'",
        )
    if "dubious ownership" in text:
        match = _OWNER.search(text)
        place = one_line(match[1]) if match else str(cwd)
        return Refused(
            "E_OWNER",
            f"the repository at {place} belongs to another user",
            f"if you trust it: git config --global --add safe.directory '{place}'",
        )
    if "not a git repository" in text.lower():
        return Refused(
            "E_REPOSITORY",
            f"{cwd} is not in a git repository",
            "cd into a research repository, or make one: mjolnir new DIR",
        )
    if "No space left on device" in text:
        return Refused(
            "E_DISK_FULL", f"git {command}: no room on the disk", "free some space, then run the command again"
        )
    return EnvironmentFault("E_GIT", f"git {command} failed: {complaint(finished)}", f"see git -C '{cwd}' status")


def complaint(finished: process.Finished) -> str:
    """git's own words in one line, without `fatal:` and control characters."""
    text = re.sub(r"(?m)^(fatal|error|hint): ", "", os.fsdecode(finished.stderr))
    return one_line(text) or f"exit {finished.returncode}"


def _environment(overrides: Iterable[tuple[str, str]], extra: Mapping[str, str]) -> dict[str, str]:
    env = {k: v for k, v in os.environ.items() if not k.startswith("GIT_") or _KEPT.fullmatch(k)}
    for name in ("SSH_ASKPASS", "PAGER", "EDITOR", "VISUAL", "LANGUAGE"):
        env.pop(name, None)
    env |= _ALWAYS
    # By variables and not by -c: a filter's name may hold an equals sign.
    pairs = list(overrides)
    env["GIT_CONFIG_COUNT"] = str(len(pairs))
    for n, (key, value) in enumerate(pairs):
        env[f"GIT_CONFIG_KEY_{n}"], env[f"GIT_CONFIG_VALUE_{n}"] = key, value
    return {**env, **extra}
