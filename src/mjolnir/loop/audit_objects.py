"""Rows against the repository: commits that are there, kernels that are what the row says, refs that pin them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from mjolnir.core.audit_finding import AuditFinding
from mjolnir.core.model import Experiment, Status
from mjolnir.core.program_hash import program_hash
from mjolnir.store.git import PIN_PREFIX, Git
from mjolnir.store.git_lookup import FULL_ID, look_up, read_blobs

_LOST = "git fsck --lost-found; fetch it from a repository that has it; a commit that is gone cannot be checked"
_EDITED = "mjolnir autoresearch show ID --diff; a row and its commit that disagree mean nothing"
_CHAMPIONS = (Status.BASELINE, Status.KEEP)

Found = Mapping[str, tuple[str, str]]


def check_replacements(git: Git) -> Iterator[AuditFinding]:
    """Replace refs and grafts: what git shows is not what is stored. (No call of mjolnir obeys them.)"""
    if git.has_replace_refs():
        yield AuditFinding(
            code="E_GIT_REPLACE",
            message="the repository has replace refs or grafts: what git shows is not what is stored",
            hint="git replace -l lists them; git replace -d OBJECT (and remove .git/info/grafts)",
        )


def check_objects(git: Git, rows: Sequence[Experiment], kernel: str | None) -> Iterator[AuditFinding]:
    """Commits and kernels of every row that names them, all in one git process; programs of the champions."""
    named = [row for row in rows if row.commit_full is not None]
    kernel = None if kernel is None or "\n" in kernel else kernel
    found = look_up(git.root, _names(named, kernel))
    for row in named:
        for what in _faults(row, found, kernel):
            yield AuditFinding(code="E_OBJECTS", row=row.id, message=f"row #{row.id} {what}", hint=_LOST)
    for row in rows:
        if row.schema is not None and row.commit_full is None:
            what = f"row #{row.id} does not name the commit that was measured"
            yield AuditFinding(code="E_OBJECTS", row=row.id, message=what, hint=_EDITED)
    yield from _check_programs(git, named)


def _names(rows: Sequence[Experiment], kernel: str | None) -> Iterator[str]:
    for row in rows:
        for commit in (row.commit_full, row.parent_full, row.champion_commit):
            if commit is not None and FULL_ID.fullmatch(commit):
                yield commit
        if kernel is not None and FULL_ID.fullmatch(row.commit_full or ""):
            yield f"{row.commit_full}:{kernel}"
        if FULL_ID.fullmatch(row.commit_full or ""):
            yield f"{row.commit_full}^1"


def _faults(row: Experiment, found: Found, kernel: str | None) -> Iterator[str]:
    names = {"commit": row.commit_full, "parent": row.parent_full, "champion": row.champion_commit}
    for role, commit in names.items():
        if commit is not None and found.get(commit, ("", ""))[1] != "commit":
            yield f"names a {role} that is not in this repository: {commit[:12]!r}"
    yield from _parent_faults(row, found)
    if row.commit and not (row.commit_full or "").startswith(row.commit):
        yield "names two different commits"
    if kernel is None or row.commit_full not in found:
        return
    blob = found.get(f"{row.commit_full}:{kernel}")
    if blob != (row.kernel_blob, "blob"):
        yield f"names another kernel than its commit {str(row.commit_full)[:12]} has at {kernel}"


def _parent_faults(row: Experiment, found: Found) -> Iterator[str]:
    """A row of version 0 has no parent_full."""
    if row.schema is None or found.get(row.commit_full or "", ("", ""))[1] != "commit":
        return
    parent = found.get(f"{row.commit_full}^1", (None, ""))[0]
    is_told = row.parent_full is not None and row.parent_full not in found
    if row.parent_full != parent and not is_told:
        told, real = (x[:12] if x is not None else "none" for x in (row.parent_full, parent))
        yield f"names the parent {told}; its commit {str(row.commit_full)[:12]} has {real}"


def _check_programs(git: Git, rows: Sequence[Experiment]) -> Iterator[AuditFinding]:
    """program_hash of baseline and keeps, from the kernel's own text: reading every one would cost too much."""
    champions = [row for row in rows if row.status in _CHAMPIONS and FULL_ID.fullmatch(row.kernel_blob or "")]
    texts = read_blobs(git.root, (str(row.kernel_blob) for row in champions))
    programs = {blob: program_hash(text) for blob, text in texts.items()}
    for row in champions:
        blob = str(row.kernel_blob)
        if blob not in programs:
            what = f"the kernel of row #{row.id} is missing, or does not hold what its id says"
            yield AuditFinding(code="E_OBJECTS", row=row.id, message=what, hint=_LOST)
        elif programs[blob] != row.program_hash:
            what = f"row #{row.id} names another program than its kernel is"
            yield AuditFinding(code="E_VERDICT", row=row.id, message=what, hint=_EDITED)


def check_pins(
    tag: str, rows: Sequence[Experiment], pins: Mapping[int, str], pins_before: Mapping[int, str]
) -> Iterator[AuditFinding]:
    """refs/mjolnir/<tag>/<id> of every row. `pins_before` were read before the ledger, `pins` after: a row that is
    appended meanwhile is in neither way a finding."""
    place = f"{PIN_PREFIX}/{tag}"
    for row in rows:
        if row.schema is None or not FULL_ID.fullmatch(row.commit_full or ""):
            continue
        pinned = pins.get(row.id)
        if pinned != row.commit_full:
            what = "is not pinned" if pinned is None else f"is pinned at another commit, {pinned[:12]}"
            mend = f"if the row is right: git update-ref {place}/{row.id} {row.commit_full}"
            yield AuditFinding(code="E_PIN", row=row.id, message=f"row #{row.id} {what} ({place}/{row.id})", hint=mend)
    known = {row.id for row in rows}
    for row_id in sorted(pins.keys() & pins_before.keys() - known):
        what = f"{place}/{row_id} pins an experiment that the ledger does not have: a row was removed"
        hint = f"git show {pins[row_id][:12]} is what was measured"
        yield AuditFinding(code="E_PIN", row=row_id, message=what, hint=hint)
