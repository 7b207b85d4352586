"""A repository, read and moved by plumbing: full ids in and out, nothing run that its configuration names."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mjolnir.errors import EnvironmentFault, Refused
from mjolnir.store import git_changes, git_objects
from mjolnir.store.git_command import call_git, complaint, failure, run_git
from mjolnir.store.git_objects import Blob
from mjolnir.store.tag import require_tag

PIN_PREFIX = "refs/mjolnir"


@dataclass(frozen=True, slots=True, kw_only=True)
class Git:
    """A work tree. `git_dir` is its own git directory, `common_dir` the one that all its work trees share."""

    root: Path
    git_dir: Path
    common_dir: Path

    @classmethod
    def find(cls, cwd: Path) -> Git:
        """The repository around `cwd`.

        Raises Refused E_REPOSITORY (none, a bare one, or inside .git) or E_OWNER (another user's), EnvironmentFault
        E_GIT (no git).
        """
        args = ["rev-parse", "--is-bare-repository", "--absolute-git-dir", "--git-common-dir", "--show-toplevel"]
        finished = run_git(args, cwd)
        if not finished.ok and b"work tree" in finished.stderr:
            what = "a bare repository" if finished.stdout.startswith(b"true") else "inside a git directory"
            raise Refused(
                "E_REPOSITORY", f"{cwd} is {what}: it has no work tree", "cd into a work tree of the repository"
            )
        if not finished.ok:
            raise failure("rev-parse", finished, cwd)
        _, git_dir, common_dir, root = os.fsdecode(finished.stdout).rstrip("\n").split("\n")
        return cls(root=Path(root), git_dir=Path(git_dir), common_dir=(cwd / common_dir).resolve())

    @classmethod
    def init_repository(cls, folder: Path, *, branch: str = "main") -> Git:
        """A new repository in `folder`, on `branch`, without template hooks. Raises EnvironmentFault E_GIT."""
        call_git(["init", "-q", "--template="], folder)
        call_git(["symbolic-ref", "HEAD", f"refs/heads/{branch}"], folder)
        return cls.find(folder)

    def head(self) -> str | None:
        """The full id of HEAD's commit, None before the first commit."""
        return self.resolve("HEAD")

    def branch(self) -> str | None:
        """The branch that is checked out (it may have no commit yet), None on a detached HEAD."""
        finished = run_git(["symbolic-ref", "-q", "HEAD"], self.root)
        name = os.fsdecode(finished.stdout).rstrip("\n")
        return name.removeprefix("refs/heads/") if finished.ok and name.startswith("refs/heads/") else None

    def resolve(self, rev: str) -> str | None:
        """The full id of the commit that `rev` names, None when it names none."""
        if "\0" in rev:
            return None
        args = ["rev-parse", "--verify", "--quiet", "--end-of-options", f"{rev}^{{commit}}"]
        finished = run_git(args, self.root)
        return finished.stdout.decode().strip() if finished.ok else None

    def exists(self, commit: str) -> bool:
        """True when the repository has this commit."""
        return self.resolve(commit) is not None

    def parent(self, commit: str) -> str | None:
        """The first parent of a commit, None for a root. Raises Refused E_OBJECTS."""
        parents = git_objects.read_commit(self.root, commit).parents
        return parents[0] if parents else None

    def subject(self, commit: str) -> str:
        """The first line of a commit's message, made printable. Raises Refused E_OBJECTS."""
        return git_objects.read_commit(self.root, commit).subject

    def is_ancestor(self, older: str, newer: str) -> bool:
        """True when `older` is `newer` or lies in its history. Raises EnvironmentFault E_GIT for unknown commits."""
        finished = run_git(["merge-base", "--is-ancestor", older, newer], self.root)
        if finished.returncode not in (0, 1):
            raise failure("merge-base", finished, self.root)
        return finished.ok

    def changed_paths(self, base: str, head: str) -> tuple[str, ...]:
        """Every path that a commit of base..head changes against any parent, both names of a rename; sorted."""
        commits = call_git(["rev-list", f"{base}..{head}"], self.root)
        args = ["diff-tree", "--stdin", "-r", "-z", "-m", "--root", "--no-commit-id", "--name-only"]
        output = call_git([*args, "--no-renames", "--ignore-submodules=none"], self.root, stdin=commits)
        return tuple(sorted({os.fsdecode(name) for name in output.split(b"\0")[:-1]}))

    def read_blob(self, commit: str, path: str) -> Blob:
        """The file at a commit, by its id. Raises Refused E_NOT_REGULAR or E_OBJECTS (see git_objects.read_blob)."""
        return git_objects.read_blob(self.root, commit, path)

    def is_dirty(self, path: str) -> bool:
        """True unless index and work tree hold exactly HEAD's bytes of `path`; no flag, no stat time hides a change."""
        return git_changes.is_dirty(self.root, path)

    def dirty_paths(self) -> tuple[str, ...]:
        """Tracked files that differ from HEAD in the index or the work tree, sorted."""
        if self.head() is None:
            return ()
        return git_changes.dirty_paths(self.root, self._no_filters())

    def has_replace_refs(self) -> bool:
        """True for refs/replace or info/grafts, which show other commits; no call of this class obeys them."""
        if call_git(["for-each-ref", "--count=1", "refs/replace/"], self.root):
            return True
        grafts = self.common_dir / "info" / "grafts"
        return grafts.is_file() and grafts.stat().st_size > 0

    def branch_exists(self, name: str) -> bool:
        """True for a local branch."""
        return run_git(["show-ref", "--verify", "--quiet", f"refs/heads/{name}"], self.root).ok

    def default_branch_exists(self, base: str) -> bool:
        """True when a run can start from `base`: a branch, a tag or a commit."""
        return self.resolve(base) is not None

    def create_branch(self, name: str, base: str) -> None:
        """Make `name` at `base` and switch to it; uncommitted changes come along.

        Raises Refused E_BRANCH (it exists, cannot be made, or there is no `base`), E_DIRTY (a change is in the way),
        E_FILTER, E_STALE_LOCK.
        """
        if self.branch_exists(name):
            raise Refused("E_BRANCH", f"the branch {name} exists", "take another tag: a run never reuses a branch")
        commit = self.resolve(base)
        if commit is None:
            raise Refused("E_BRANCH", f"there is no {base} to start from", "name a branch that exists: --base BRANCH")
        self._move(["switch", "-q", "--no-track", "--no-guess", "-c", name, commit], commit)

    def switch(self, name: str) -> None:
        """Check out a branch, or a commit id as a detached HEAD; uncommitted changes come along. Raises as above."""
        commit = self.resolve(name)
        if commit is None:
            raise Refused("E_BRANCH", f"there is no branch {name}", "git branch --list")
        place = [name] if self.branch_exists(name) else ["--detach", commit]
        self._move(["switch", "-q", "--no-guess", *place], commit)

    def reset_keep(self, commit: str) -> None:
        """Move the branch to `commit`; refuses where that would lose an uncommitted change. Raises Refused E_DIRTY."""
        self._move(["reset", "-q", "--keep", commit], None)

    def delete_branch(self, name: str) -> None:
        """Remove a branch that is not checked out anywhere. Raises Refused E_BRANCH."""
        finished = run_git(["branch", "-q", "-D", "--", name], self.root)
        if not finished.ok:
            raise Refused("E_BRANCH", f"{name} cannot be deleted: {complaint(finished)}", f"git branch -D '{name}'")

    def pin(self, tag: str, row_id: int, commit: str) -> None:
        """Keep a measured commit reachable for ever, as refs/mjolnir/<tag>/<id>."""
        call_git(["update-ref", f"{PIN_PREFIX}/{require_tag(tag)}/{row_id}", commit], self.root)

    def pinned(self, tag: str) -> dict[int, str]:
        """{id: commit} of a run."""
        output = call_git(
            ["for-each-ref", "--format=%(refname) %(objectname)", f"{PIN_PREFIX}/{require_tag(tag)}/"], self.root
        )
        pairs = (line.rpartition("/")[2].split(" ") for line in os.fsdecode(output).splitlines())
        return {int(row_id): commit for row_id, commit in pairs if row_id.isdecimal()}

    def unpin(self, tag: str) -> None:
        """Let go of a run's commits: for an `init` that failed."""
        commands = "".join(f"delete {PIN_PREFIX}/{tag}/{row_id}\n" for row_id in self.pinned(tag))
        call_git(["update-ref", "--stdin"], self.root, stdin=commands.encode())

    def diff(self, base: str, head: str, path: str, *, context: int = 3) -> str:
        """One file's change as a unified diff, as text whatever its attributes say; empty when there is none."""
        options = ["-p", "-r", "--text", "--no-ext-diff", "--no-textconv", "--no-color", "--no-renames", f"-U{context}"]
        output = call_git(["diff-tree", *options, base, head, "--", path], self.root)
        return output.decode("utf-8", "replace")

    def commit(self, message: str, paths: Sequence[str]) -> str:
        """Commit exactly these files and return the commit's id; a user without an identity gets a neutral one."""
        overrides = self._no_filters()
        names = b"".join(os.fsencode(path) + b"\0" for path in paths)
        call_git(["update-index", "--add", "-z", "--stdin"], self.root, stdin=names, overrides=overrides)
        args = ["commit", "-q", "--no-verify", "--no-gpg-sign", "--cleanup=verbatim", "-F", "-", "--only", "--", *paths]
        call_git(args, self.root, stdin=message.encode(), overrides=overrides, extra_env=self._identity())
        head = self.head()
        if head is None:
            raise EnvironmentFault("E_GIT", "git commit left no commit", f"see git -C '{self.root}' status")
        return head

    def _move(self, args: list[str], target: str | None) -> None:
        """A call that writes the work tree. Filters do not run, so files that need one are refused beforehand."""
        overrides = self._no_filters()
        if target is not None and overrides:
            self._require_unfiltered(target)
        finished = run_git(args, self.root, overrides=overrides)
        if finished.ok:
            return
        problem = failure(args[0], finished, self.root)
        if problem.code != "E_GIT":
            raise problem
        text = complaint(finished)
        is_change = any(word in text for word in ("local changes", "would be overwritten", "not uptodate"))
        if is_change:
            raise Refused("E_DIRTY", f"git {args[0]}: {text}", "commit or stash the change, then run this again")
        raise Refused("E_BRANCH", f"git {args[0]}: {text}", "git status shows what is in the way")

    def _require_unfiltered(self, target: str) -> None:
        head = self.head()
        changed = self._diff_names(head, target) if head else b""
        if not changed:
            return
        records = call_git(["check-attr", "-z", "--stdin", "filter"], self.root, stdin=changed).split(b"\0")
        for path, value in zip(records[0::3], records[2::3], strict=False):
            if value not in (b"unspecified", b"unset"):
                name = os.fsdecode(path)
                what = f"{name} goes through the git filter {os.fsdecode(value)}, which mjolnir does not run"
                raise Refused("E_FILTER", what, "git switch to the base yourself, then run this again")

    def _diff_names(self, base: str, head: str) -> bytes:
        return call_git(["diff-tree", "-r", "-z", "--name-only", "--no-renames", base, head], self.root)

    def _no_filters(self) -> list[tuple[str, str]]:
        """Settings that switch off every configured clean, smudge and process filter."""
        finished = run_git(["config", "--list", "-z", "--name-only"], self.root)
        keys = {os.fsdecode(key) for key in finished.stdout.split(b"\0") if key.lower().startswith(b"filter.")}
        names = {key.partition(".")[2].rpartition(".")[0] for key in keys}
        parts = (("clean", ""), ("smudge", ""), ("process", ""), ("required", "false"))
        return [(f"filter.{name}.{part}", value) for name in sorted(names) for part, value in parts]

    def _identity(self) -> dict[str, str]:
        """Author and committer where the user has configured none."""
        found: dict[str, str] = {}
        for part, fallback in (("NAME", "mjolnir"), ("EMAIL", "mjolnir@localhost")):
            if run_git(["config", f"user.{part.lower()}"], self.root).ok:
                continue
            for role in ("AUTHOR", "COMMITTER"):
                if not os.environ.get(f"GIT_{role}_{part}"):
                    found[f"GIT_{role}_{part}"] = fallback
        return found
