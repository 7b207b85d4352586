"""run.json: what `init` froze for a run, under the git directory. Every later command judges by this file alone."""

from __future__ import annotations

import hashlib
import json
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import msgspec

from mjolnir.errors import Refused
from mjolnir.store import atomic
from mjolnir.store.anchor import anchor_path, read_anchor
from mjolnir.store.ledger_files import RUNS_FOLDER, run_folder

SCHEMA = "mjolnir.run/1"
FILE = "run.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunState:
    """`config` holds the judging values of mjolnir.toml (Config.judging_values) and `config_hash` their hash.

    `min_gain` is a ratio, `base_commit` a full id, `kernel` a path from the root, `created` an ISO 8601 time.
    """

    tag: str
    branch: str
    base: str
    base_commit: str
    target: str
    rule: str
    min_gain: float
    kernel: str
    config: dict[str, Any]
    config_hash: str
    harness_hash: str
    created: str
    schema: str = SCHEMA


def write_run_state(common_dir: Path, state: RunState) -> str:
    """Freeze a run; returns the sha256 of the file, which `start_ledger` puts into the anchor.

    Raises Refused E_RUN when the tag is taken, E_DISK_FULL or E_READ_ONLY.
    """
    path = run_folder(common_dir, state.tag) / FILE
    data = json.dumps(asdict(state), indent=1, allow_nan=False).encode() + b"\n"
    with atomic.disk_errors(path):
        atomic.make_folder(path.parent)
        try:
            atomic.write_exclusive(path, data)
        except FileExistsError as e:
            what = f"the run {state.tag} exists in this repository"
            raise Refused("E_RUN", what, "take another tag: a run never reuses one") from e
    return hashlib.sha256(data).hexdigest()


def read_run_state(common_dir: Path, tag: str) -> RunState:
    """What was frozen. Raises Refused E_RUN (no such run), E_CONFIG (damaged, or edited since `init`)."""
    path = run_folder(common_dir, tag) / FILE
    hint = "the frozen configuration of a run never changes: start a new run, mjolnir autoresearch init TAG"
    try:
        data = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError) as e:
        what = f"there is no run {tag} in this repository"
        raise Refused("E_RUN", what, f"start one: mjolnir autoresearch init {tag}") from e
    except OSError as e:
        raise Refused(
            "E_CONFIG", f"{path} cannot be read: {e.strerror}", f"make it readable: chmod u+r '{path}'"
        ) from e
    try:
        state = msgspec.json.decode(data, type=RunState)
    except (msgspec.MsgspecError, RecursionError) as e:
        raise Refused("E_CONFIG", f"{path} is damaged", hint) from e
    anchored = anchor_path(common_dir, tag)
    anchor = read_anchor(anchored) if anchored else None
    is_anchored = anchor is not None and anchor.run_hash is not None
    if state.tag != tag or state.config_hash != hash_config(state.config):
        raise Refused("E_CONFIG", f"{path} was edited since init: its configuration has another hash", hint)
    if is_anchored and anchor is not None and anchor.run_hash != hashlib.sha256(data).hexdigest():
        raise Refused("E_CONFIG", f"{path} was edited since init: the anchor {anchored} remembers another one", hint)
    return state


def list_tags(common_dir: Path) -> tuple[str, ...]:
    """The tags of the runs of this repository, sorted."""
    return tuple(sorted(path.parent.name for path in (common_dir / RUNS_FOLDER).glob(f"*/{FILE}")))


def remove_run_state(common_dir: Path, tag: str) -> None:
    """Undo `write_run_state` for an `init` that failed, with the run's whole folder (call `remove_ledger` first)."""
    folder = run_folder(common_dir, tag)
    with atomic.disk_errors(folder):
        shutil.rmtree(folder, ignore_errors=True)


def hash_config(values: dict[str, Any]) -> str:
    """The hash of judging values, as Config.judging_hash has it."""
    return hashlib.sha256(json.dumps(values, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
