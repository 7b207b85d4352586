"""What `init` looks at before it measures or changes anything."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from mjolnir.config import CONFIG_NAME, INTERPRETER, Config, TargetSection, read_config
from mjolnir.core.rule_names import CONFIRMED, KEEP_RULES
from mjolnir.errors import Refused, UsageFault
from mjolnir.loop.guard import config_at, require_no_replacements
from mjolnir.store.foreign_text import one_line
from mjolnir.store.git import Git
from mjolnir.store.git_command import call_git
from mjolnir.store.git_objects import Blob
from mjolnir.store.ledger_files import LEDGER, ledger_files, ledger_owner
from mjolnir.store.run_state import list_tags
from mjolnir.store.tag import branch_of, require_tag
from mjolnir.targets.protocol import Target, load_target, resolve_target_name

MAX_NAMED_BRANCHES = 8
SANDBOXES = ("process",)


@dataclass(frozen=True, slots=True, kw_only=True)
class StartRequest:
    """What the caller of `init` said; None: what mjolnir.toml says."""

    tag: str
    base: str = "main"
    with_baseline: bool = True
    with_calibration: bool = True
    rule: str | None = None
    sandbox: str | None = None
    target: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A run that may start. `head` and `head_branch` (None: detached) are where the work tree is now.

    `is_calibrated`: the starting kernel is also raced against itself; only the rule `confirmed` makes use of that.
    """

    git: Git
    tag: str
    branch: str
    base: str
    base_commit: str
    rule: str
    is_calibrated: bool
    head: str
    head_branch: str | None
    target: str
    config: Config
    section: TargetSection
    device: Target
    blob: Blob


def plan_run(cwd: Path, request: StartRequest) -> Plan:
    """What `init` will do. Nothing is written.

    Raises UsageFault (tag, options), ConfigFault, EnvironmentFault (git, target), and Refused: E_REPOSITORY,
    E_NO_COMMITS, E_GIT_REPLACE, E_BRANCH, E_RUN, E_LEDGER, E_STALE_LOCK, E_CONFIG, E_NOT_REGULAR, E_DIRTY.
    """
    tag = require_tag(request.tag)
    _require_options(request)
    git = Git.find(cwd)
    head = git.head()
    if head is None:
        raise Refused("E_NO_COMMITS", f"{git.root} has no commit yet", "git add FILES && git commit, then init again")
    require_no_replacements(git)
    base_commit = _require_base(git, request.base)
    _require_free_tag(git, tag)
    _require_no_ledger(git, tag)
    _require_no_lock(git)
    config = _config_of(git, request.base, base_commit)
    target = resolve_target_name(request.target or config.run.target)
    device = load_target(target, config)
    section = _section_of(config, target)
    rule = request.rule or config.run.rule
    plan = Plan(
        git=git,
        tag=tag,
        branch=branch_of(tag),
        base=request.base,
        base_commit=base_commit,
        rule=rule,
        is_calibrated=request.with_baseline and request.with_calibration and rule == CONFIRMED,
        head=head,
        head_branch=git.branch(),
        target=target,
        config=config,
        section=section,
        device=device,
        blob=git.read_blob(base_commit, section.kernel),
    )
    _require_clean(plan)
    return plan


def require_unchanged(plan: Plan) -> None:
    """The repository is as it was planned on, after minutes of measuring. Raises Refused E_BRANCH, E_RUN, E_LEDGER."""
    if plan.git.head() != plan.head:
        what = "HEAD moved while the baseline was measured"
        raise Refused("E_BRANCH", what, f"run it again: mjolnir autoresearch init {plan.tag}")
    _require_free_tag(plan.git, plan.tag)
    _require_no_ledger(plan.git, plan.tag)


def _require_base(git: Git, base: str) -> str:
    commit = git.resolve(base)
    if commit is not None:
        return commit
    output = call_git(["for-each-ref", "--format=%(refname:short)", "--sort=-committerdate", "refs/heads/"], git.root)
    names = [one_line(name, 80) for name in os.fsdecode(output).splitlines()]
    shown = ", ".join(names[:MAX_NAMED_BRANCHES]) or "none"
    first = names[0] if names else "HEAD"
    raise Refused(
        "E_BRANCH",
        f"there is no {one_line(base, 80)} to start from",
        f"name a branch with --base {first}; there are: {shown}",
    )


def _require_free_tag(git: Git, tag: str) -> None:
    branch = branch_of(tag)
    if git.branch_exists(branch):
        raise Refused(
            "E_BRANCH",
            f"the branch {branch} exists: a run never reuses one",
            f"go on with it: git switch {branch}; or take another tag",
        )
    if tag in list_tags(git.common_dir):
        raise Refused("E_RUN", f"the run {tag} exists in this repository, without its branch", "take another tag")


def _require_no_ledger(git: Git, tag: str) -> None:
    """A ledger holds one run, and nobody's rows are overwritten."""
    files = ledger_files(git.root, git.common_dir, tag)
    if not files.ledger.size_bytes():
        return
    owner = ledger_owner(git.root)
    name = f"of the run {owner}" if owner is not None else "of another run"
    export = f"mjolnir autoresearch export{f' --tag {owner}' if owner is not None else ''}"
    raise Refused("E_LEDGER", f"{LEDGER} holds the rows {name}", f"export it, then remove it: {export} && rm {LEDGER}")


def _require_no_lock(git: Git) -> None:
    lock = git.git_dir / "index.lock"
    if lock.exists():
        raise Refused(
            "E_STALE_LOCK",
            f"git's lock file {lock} is there: another git runs, or one was killed",
            f"if no other git is running: rm '{lock}'",
        )


def _config_of(git: Git, base: str, base_commit: str) -> Config:
    """The configuration at the base, else that of the work tree. Raises ConfigFault and Refused E_CONFIG."""
    committed = config_at(git, base_commit)
    if committed is None:
        return read_config(git.root)
    is_edited = git.is_dirty(CONFIG_NAME) and os.path.lexists(git.root / CONFIG_NAME)
    if is_edited and read_config(git.root).judging_hash() != committed.judging_hash():
        raise Refused(
            "E_CONFIG",
            f"{CONFIG_NAME} has uncommitted changes that would judge the run",
            f"commit them to {one_line(base, 80)} first: git commit -m 'configuration' -- {CONFIG_NAME}",
        )
    return committed


def _require_options(request: StartRequest) -> None:
    """Raises UsageFault for a rule or a sandbox that there is not."""
    for option, value, known in (("--rule", request.rule, KEEP_RULES), ("--sandbox", request.sandbox, SANDBOXES)):
        if value is not None and value not in known:
            raise UsageFault(f"{option} {value!r} is not known here", f"{option} {' or '.join(known)}")


def _section_of(config: Config, target: str) -> TargetSection:
    if target == INTERPRETER:
        raise UsageFault("the interpreter times nothing, so no run can be measured on it", "choose thor, cuda or cpu")
    return config.section(target)


def _require_clean(plan: Plan) -> None:
    """Nothing uncommitted stands in the way of the kernel, or of switching to the base. Raises Refused E_DIRTY."""
    git, kernel = plan.git, plan.section.kernel
    is_here = plan.base_commit == plan.head
    if (is_here or os.path.lexists(git.root / kernel)) and git.is_dirty(kernel):
        raise Refused(
            "E_DIRTY",
            f"{kernel} has changes that are not committed; a baseline is a commit",
            f"git commit -m 'kernel' -- '{kernel}', or put them aside: git stash push -- '{kernel}'",
        )
    blocking = [] if is_here else _blocking_paths(plan)
    if blocking:
        raise Refused(
            "E_DIRTY",
            f"switching to {one_line(plan.base, 80)} would overwrite {one_line(blocking[0], 80)}",
            "commit or stash that change, then init again",
        )


def _blocking_paths(plan: Plan) -> list[str]:
    """Edited files that differ between HEAD and the base, and untracked ones where the base has a file."""
    options = ["-r", "-z", "--name-status", "--no-renames", "--ignore-submodules=all"]
    output = call_git(["diff-tree", *options, plan.head, plan.base_commit], plan.git.root)
    words = [os.fsdecode(word) for word in output.split(b"\0")[:-1]]
    dirty = set(plan.git.dirty_paths())
    return [
        path
        for status, path in zip(words[0::2], words[1::2], strict=True)
        if path in dirty or (status == "A" and os.path.lexists(plan.git.root / path))
    ]
