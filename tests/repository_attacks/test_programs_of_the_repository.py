"""Programs that a repository's configuration names: none is ever run by a command of mjolnir."""

from __future__ import annotations

import shlex
import subprocess
from dataclasses import dataclass, field

import pytest
from measured import HONEST, committed_was_measured

from doubles.research import KERNEL, kernel_text

pytest_plugins = ("doubles.fixtures",)

TOUCH = f"printf '# touched\\n' >> {KERNEL}"
HOOKS = (
    "pre-commit prepare-commit-msg commit-msg post-commit pre-rebase post-checkout post-merge pre-push post-rewrite "
    "pre-auto-gc post-index-change reference-transaction push-to-checkout fsmonitor-watchman"
)


ENVIRONMENT = (
    "GIT_EXTERNAL_DIFF GIT_PAGER PAGER GIT_EDITOR GIT_SEQUENCE_EDITOR EDITOR VISUAL GIT_ASKPASS SSH_ASKPASS GIT_SSH "
    "GIT_SSH_COMMAND GIT_PROXY_COMMAND"
)


@dataclass(frozen=True, kw_only=True)
class Trap:
    """Configuration (PROGRAM stands for the program), attributes, and what a person types that springs it."""

    config: dict[str, str] = field(default_factory=dict)
    attributes: str = ""
    hooks: str = ""
    springs: str = ""


TRAPS = {
    "fsmonitor": Trap(config={"core.fsmonitor": "PROGRAM"}, springs="git status"),
    "hooks": Trap(hooks=".git/hooks", springs="git commit -q --allow-empty -m x"),
    "hooks elsewhere": Trap(
        config={"core.hooksPath": "evil"}, hooks="evil", springs="git commit -q --allow-empty -m x"
    ),
    "included configuration": Trap(config={"include.path": "../evil.config"}, springs="git status"),
    "smudge filter": Trap(
        config={"filter.evil.smudge": "PROGRAM", "filter.evil.required": "true"},
        attributes="*.py filter=evil",
        springs=f"rm {KERNEL} && git checkout -q -- {KERNEL}",
    ),
    "clean filter": Trap(
        config={"filter.evil.clean": "PROGRAM"}, attributes="*.py filter=evil", springs=f"{TOUCH} && git add {KERNEL}"
    ),
    "process filter": Trap(
        config={"filter.evil.process": "PROGRAM"}, attributes="*.py filter=evil", springs=f"{TOUCH} && git add {KERNEL}"
    ),
    "external diff": Trap(config={"diff.external": "PROGRAM"}, springs="git diff HEAD~1 HEAD"),
    "diff driver": Trap(
        config={"diff.evil.command": "PROGRAM"}, attributes="*.py diff=evil", springs="git diff HEAD~1 HEAD"
    ),
    "textconv": Trap(
        config={"diff.evil.textconv": "PROGRAM"}, attributes="*.py diff=evil", springs="git diff HEAD~1 HEAD"
    ),
    "merge driver": Trap(config={"merge.evil.driver": "PROGRAM"}, attributes="*.py merge=evil"),
    "pager": Trap(
        config={key: "PROGRAM" for key in ("core.pager", "pager.log", "pager.diff", "pager.show", "pager.status")},
    ),
    "editor": Trap(
        config={"core.editor": "PROGRAM", "sequence.editor": "PROGRAM"}, springs="git commit --allow-empty --amend"
    ),
    "signer": Trap(
        config={"gpg.program": "PROGRAM", "commit.gpgSign": "true", "log.showSignature": "true"},
        springs="git commit -q --allow-empty -m x",
    ),
    "credentials": Trap(
        config={"credential.helper": "!PROGRAM", "core.askPass": "PROGRAM", "core.sshCommand": "PROGRAM"}
    ),
    "promisor remote": Trap(
        config={
            "remote.origin.url": "ext::PROGRAM",
            "remote.origin.promisor": "true",
            "protocol.ext.allow": "always",
            "extensions.partialClone": "origin",
            "core.repositoryFormatVersion": "1",
        },
    ),
    "submodule update": Trap(config={"submodule.src.update": "!PROGRAM", "submodule.recurse": "true"}),
    "background upkeep": Trap(
        config={"gc.auto": "1", "gc.recentObjectsHook": "PROGRAM", "maintenance.strategy": "incremental"}
    ),
}


@pytest.fixture
def mark(tmp_path):
    """What the program writes when it runs."""
    return tmp_path / "mark"


@pytest.fixture
def program(tmp_path, mark):
    """A program that leaves a mark."""
    path = tmp_path / "program.sh"
    path.write_text(f'#!/bin/sh\necho "$0 $@" >> {shlex.quote(str(mark))}\ncat\n')
    path.chmod(0o755)
    return path


def lay(lab, trap, program):
    for key, value in trap.config.items():
        lab.git("-c", "core.fsmonitor=false", "config", key, value.replace("PROGRAM", str(program)))
    (lab.root / "evil.config").write_text(f'[core]\n\tfsmonitor = "{program}"\n')
    attributes = lab.root / ".git/info/attributes"
    attributes.parent.mkdir(exist_ok=True)
    with attributes.open("a") as file:
        file.write(f"{trap.attributes}\n")
    if trap.hooks:
        folder = lab.root / trap.hooks
        folder.mkdir(exist_ok=True)
        for name in HOOKS.split():
            (folder / name).write_text(program.read_text())
            (folder / name).chmod(0o755)


def lay_all(lab, program):
    for trap in TRAPS.values():
        lay(lab, trap, program)


@pytest.mark.parametrize("name", TRAPS)
def test_no_program_of_the_repository_runs(lab, program, mark, name):
    lab.commit(speedup=HONEST)
    lay(lab, TRAPS[name], program)
    committed_was_measured(lab, None, "--apply")
    for words in (("show", "2", "--diff"), ("status",)):
        said = lab.call("autoresearch", *words)
        assert said.code == 0, said.err
    assert not mark.exists(), mark.read_text()
    if TRAPS[name].springs:
        type_to_git(lab, TRAPS[name].springs)
        assert mark.exists(), "git itself walks into the trap"


def type_to_git(lab, command):
    """A command of git itself, typed as a person would, with nothing on its input. Whether it succeeds is no matter."""
    subprocess.run(["sh", "-c", command], cwd=lab.root, stdin=subprocess.DEVNULL, capture_output=True, timeout=60)


def test_with_every_trap_laid_a_discard_is_taken_back_and_nothing_runs(lab, program, mark):
    base = lab.head()
    lab.commit(speedup=1.01)
    lay_all(lab, program)
    said = lab.evaluate("no gain", "--apply")
    assert (said.code, said.json["status"]) == (0, "discard"), said.err
    assert (lab.root / ".git/refs/heads/autoresearch/oct11").read_text().strip() == base
    assert (lab.root / KERNEL).read_text() == kernel_text()
    assert not mark.exists(), mark.read_text()


def test_with_every_trap_laid_no_command_that_reads_runs_anything(lab, program, mark):
    lab.commit(speedup=HONEST)
    lab.evaluate()
    lay_all(lab, program)
    for words in (("ledger",), ("show", "2"), ("status", "--brief"), ("status", "--json"), ("chart",), ("export",)):
        said = lab.call("autoresearch", *words)
        assert said.code == 0, said.err
    lab.call("doctor")
    assert not mark.exists(), mark.read_text()


def test_with_every_trap_laid_a_run_begins_and_nothing_runs(research, program, mark):
    lay_all(research, program)
    said = research.init()
    assert said.code == 0, said.err
    assert not mark.exists(), mark.read_text()


def test_no_program_of_the_environment_runs(lab, program, mark, monkeypatch):
    lab.commit(speedup=HONEST)
    for name in ENVIRONMENT.split():
        monkeypatch.setenv(name, str(program))
    committed_was_measured(lab)
    assert lab.call("autoresearch", "show", "2", "--diff").code == 0
    assert not mark.exists(), mark.read_text()
