"""What is refused before anything runs: each refusal has a code, a sentence and the command that mends it."""

from __future__ import annotations

from dataclasses import dataclass

from mjolnir.config import CONFIG_NAME, GPU_TARGETS, INTERPRETER, Config, parse_config, read_config
from mjolnir.core.import_scan import Finding, scan_imports
from mjolnir.core.model import Experiment, RowGlance
from mjolnir.core.program_hash import program_hash
from mjolnir.errors import ConfigFault, Refused
from mjolnir.loop.budget import Attempt, count_attempt
from mjolnir.loop.run_lookup import OpenRun
from mjolnir.store.fingerprint import harness_hash
from mjolnir.store.foreign_text import one_line
from mjolnir.store.git import Git
from mjolnir.store.git_objects import Blob

NEVER_ALLOWED = (CONFIG_NAME, "opencode.json", ".opencode")
"""What no commit of a run may touch, whatever [run] allow says: it steers the judge or the agent."""
MAX_NAMED = 5
"""Paths or findings in one message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A commit that may be measured. `since` is the champion's commit, or the base while there is none; `notes` are
    remarks for its row."""

    commit: str
    parent: str | None
    blob: Blob
    program: str
    attempt: Attempt
    champion: Experiment | None
    since: str
    notes: tuple[str, ...]


def guard(run: OpenRun, *, again: bool, is_thorough: bool = False) -> Candidate:
    """The candidate at HEAD. `is_thorough` checks every hash of the ledger's chain and not its ends alone.

    Raises Refused: E_GIT_REPLACE, E_LEDGER, E_HARNESS, E_CONFIG, E_LINEAGE, E_NOT_REGULAR, E_DIRTY, E_OTHER_FILES,
    E_IMPORT, E_SAME_PROGRAM, E_BUDGET; ConfigFault when the work tree's mjolnir.toml cannot be read.
    """
    require_no_replacements(run.git)
    require_sound_ledger(run, is_thorough=is_thorough)
    require_frozen(run)
    glances = run.ledger.glances()
    champion = run.champion(glances)
    commit = _require_head(run)
    since = require_lineage(run, champion, commit)
    blob = run.git.read_blob(commit, run.state.kernel)
    if run.git.is_dirty(run.state.kernel):
        raise Refused(
            "E_DIRTY",
            f"{run.state.kernel} has changes that are not committed; only commits are measured",
            f"git commit -m 'what you tried' -- '{run.state.kernel}'",
        )
    notes = require_own_files(run, since, commit) + require_imports(blob, run.state.kernel, run.state.target)
    program = program_hash(blob.data)
    return Candidate(
        commit=commit,
        parent=run.git.parent(commit),
        blob=blob,
        program=program,
        attempt=_attempt(run, glances, program, again=again),
        champion=champion,
        since=since,
        notes=notes,
    )


def require_no_replacements(git: Git) -> None:
    """Raises Refused E_GIT_REPLACE."""
    if git.has_replace_refs():
        raise Refused(
            "E_GIT_REPLACE",
            "the repository has replace refs or grafts: what git shows is not what is stored",
            "git replace -l lists them; git replace -d OBJECT (and remove .git/info/grafts)",
        )


def require_sound_ledger(run: OpenRun, *, is_thorough: bool) -> None:
    """Raises Refused E_LEDGER when rows were removed, edited or forged."""
    state = run.ledger.verify() if is_thorough else run.ledger.check()
    if state.problem is not None:
        raise state.problem
    lost = [number for number in run.git.pinned(run.state.tag) if number > state.rows] if is_thorough else []
    if lost:
        raise Refused(
            "E_LEDGER",
            f"the ledger holds {state.rows} rows, but refs/mjolnir/{run.state.tag}/{max(lost)} pins an experiment "
            "beyond them: rows were removed",
            f"bring the ledger back from a copy, or export what is left and start a new run; git for-each-ref "
            f"refs/mjolnir/{run.state.tag} lists the commits",
        )


def require_frozen(run: OpenRun) -> None:
    """Harness and configuration are those of `init`. Raises Refused E_HARNESS and E_CONFIG, ConfigFault."""
    if harness_hash() != run.state.harness_hash:
        raise Refused(
            "E_HARNESS",
            f"the installed mjolnir is not the one that began the run {run.state.tag}: its numbers do not compare",
            "install that version again, or start a new run: mjolnir autoresearch init TAG",
        )
    mend = f"git checkout {run.state.base_commit[:12]} -- {CONFIG_NAME}"
    if not (run.git.root / CONFIG_NAME).exists():
        raise Refused(
            "E_CONFIG", f"{CONFIG_NAME} is gone; the run {run.state.tag} froze it at init", f"bring it back: {mend}"
        )
    _require_frozen_config(run, read_config(run.git.root), "the work tree", mend)
    _require_frozen_config(run, config_at(run.git, "HEAD"), "HEAD", f"git log --oneline -- {CONFIG_NAME} shows where")


def _require_frozen_config(run: OpenRun, config: Config | None, place: str, mend: str) -> None:
    if config is not None and config.judging_hash() != run.state.config_hash:
        raise Refused(
            "E_CONFIG",
            f"{CONFIG_NAME} of {place} has other judging values than the run froze at init",
            f"undo that change ({mend}), or start a new run: mjolnir autoresearch init TAG",
        )


def config_at(git: Git, rev: str) -> Config | None:
    """The committed mjolnir.toml; None when that commit has none. Raises ConfigFault."""
    commit = git.resolve(rev)
    if commit is None:
        return None
    try:
        text = git.read_blob(commit, CONFIG_NAME).data.decode()
    except Refused as e:
        if e.code != "E_NOT_REGULAR":
            raise
        return None
    except UnicodeDecodeError as e:
        raise ConfigFault(f"{CONFIG_NAME} at {rev} is not UTF-8", f"commit a readable {CONFIG_NAME}") from e
    return parse_config(text, where=f"{CONFIG_NAME} at {rev}")


def _require_head(run: OpenRun) -> str:
    commit = run.git.head()
    if commit is None:
        raise Refused("E_NO_COMMITS", f"{run.git.root} has no commit yet", "git add FILES && git commit")
    return commit


def require_lineage(run: OpenRun, champion: Experiment | None, commit: str) -> str:
    """The commit that `commit` must build on: the champion's, or the run's base. Raises Refused E_LINEAGE."""
    wanted = (champion.commit_full or champion.commit) if champion is not None else run.state.base_commit
    name = f"the champion #{champion.id}" if champion is not None else f"the run's base {run.state.base}"
    since = run.git.resolve(wanted or "")
    if since is None:
        raise Refused(
            "E_LINEAGE",
            f"the commit {one_line(wanted or '?')} of {name} is gone from the repository",
            "bring it back (git fsck --lost-found), or start a new run: mjolnir autoresearch init TAG",
        )
    if not run.git.is_ancestor(since, commit):
        raise Refused(
            "E_LINEAGE",
            f"HEAD {commit[:12]} does not build on {name}, commit {since[:12]}",
            f"git reset --soft {since} && git commit -m 'what you tried' (your change on top of it), or give the "
            f"change up: git reset --hard {since}",
        )
    return since


def require_own_files(run: OpenRun, since: str, commit: str) -> tuple[str, ...]:
    """Notes on the allowed files that changed. Raises Refused E_OTHER_FILES."""
    changed = [p for p in run.git.changed_paths(since, commit) if p != run.state.kernel]
    strangers = [p for p in changed if not is_allowed(p, run.config.run.allow)]
    if strangers:
        named = ", ".join(one_line(p, 80) for p in strangers[:MAX_NAMED])
        more = f" and {len(strangers) - MAX_NAMED} more" if len(strangers) > MAX_NAMED else ""
        raise Refused(
            "E_OTHER_FILES",
            f"commits since {since[:12]} touch {named}{more}; an experiment changes {run.state.kernel} alone",
            f"keep the kernel's change alone: git reset --soft {since} && git restore --staged . && "
            f"git commit -m 'what you tried' -- '{run.state.kernel}'",
        )
    return tuple(f"{one_line(p, 200)} changed since the champion" for p in changed)


def is_allowed(path: str, allow: tuple[str, ...]) -> bool:
    """True when an entry of [run] allow names the path or a folder above it, and nothing forbids it for good."""
    if any(_is_at_or_below(path, place) for place in NEVER_ALLOWED):
        return False
    return any(_is_at_or_below(path, place) for place in allow)


def _is_at_or_below(path: str, place: str) -> bool:
    return path == place or path.startswith(f"{place.rstrip('/')}/")


def require_imports(blob: Blob, name: str, target: str) -> tuple[str, ...]:
    """Notes on what looks odd in a kernel. Raises Refused E_IMPORT that names the line."""
    found = scan_imports(blob.data, gpu=target in (*GPU_TARGETS, INTERPRETER))
    if found.forbidden:
        first = found.forbidden[0]
        more = f" (and {len(found.forbidden) - 1} more)" if len(found.forbidden) > 1 else ""
        raise Refused("E_IMPORT", f"{name}, {_where(first)}{more}", "remove that import, commit, evaluate again")
    return tuple(_where(note) for note in found.notes[:MAX_NAMED])


def _where(finding: Finding) -> str:
    return f"line {finding.line}: {one_line(finding.text)}: {finding.why}"


def _attempt(run: OpenRun, glances: list[RowGlance], program: str, *, again: bool) -> Attempt:
    return count_attempt(glances, program, again=again, read_row=run.ledger.row)
