"""A run's tag: it names a branch, refs and a folder, so what it may hold is narrow."""

from __future__ import annotations

import re

from mjolnir.errors import UsageFault

BRANCH_PREFIX = "autoresearch/"
MAX_TAG_LENGTH = 64
_TAG = re.compile(r"\w[\w.-]*")


def require_tag(tag: str) -> str:
    """`tag` itself. Raises UsageFault when it cannot name a branch and a folder."""
    is_sane = len(tag) <= MAX_TAG_LENGTH and _TAG.fullmatch(tag) is not None
    if not is_sane or ".." in tag or tag.endswith((".", ".lock")):
        shown = "".join(c if c.isprintable() else "?" for c in tag[:MAX_TAG_LENGTH])
        raise UsageFault(
            f"{shown!r} cannot be a tag", f"use up to {MAX_TAG_LENGTH} letters, digits, '.', '_' or '-', such as oct11"
        )
    return tag


def branch_of(tag: str) -> str:
    """The branch of a run."""
    return BRANCH_PREFIX + tag


def tag_of_branch(branch: str | None) -> str | None:
    """The tag a branch stands for, None for another branch or a detached HEAD."""
    if branch is None or not branch.startswith(BRANCH_PREFIX):
        return None
    return branch.removeprefix(BRANCH_PREFIX) or None


def owner_of(run: str | None, branch: str | None) -> str | None:
    """Whose row this is: its `run`, else (version 0) its branch without the prefix, in both cases fit for a folder."""
    name = run or tag_of_branch(branch) or branch
    if not name:
        return None
    fit = re.sub(r"[^\w.-]|\.\.+", "-", name[:MAX_TAG_LENGTH]).lstrip(".-").rstrip(".").removesuffix(".lock")
    return fit or None
