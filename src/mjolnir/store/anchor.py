"""The anchor: how many rows a ledger had and the hash of its last one, kept outside the repository.

A chain shows an edited row but not a cut one: only somebody who remembers the length can. The anchor also holds the
hash of the row that is being written, so that after a crash this row is accepted and no other.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import msgspec

from mjolnir.errors import Refused
from mjolnir.store import atomic

SCHEMA = "mjolnir.anchor/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Anchor:
    """`rows` rows take `size_bytes` bytes and end with `last_hash`; `pending` is the hash of the row being written.

    `run_hash` is the sha256 of run.json, so that a frozen configuration which was edited shows.
    """

    rows: int = 0
    size_bytes: int = 0
    last_hash: str | None = None
    pending: str | None = None
    run_hash: str | None = None


def state_folder() -> Path | None:
    """$XDG_STATE_HOME/mjolnir, else ~/.local/state/mjolnir; None where the user has no home."""
    given = os.environ.get("XDG_STATE_HOME", "")
    if os.path.isabs(given):
        return Path(given) / "mjolnir"
    try:
        return Path.home() / ".local" / "state" / "mjolnir"
    except RuntimeError:
        return None


def anchor_path(common_dir: Path, tag: str) -> Path | None:
    """Where the anchor of a run of this repository lives for this user, or None."""
    folder = state_folder()
    if folder is None:
        return None
    key = hashlib.sha256(os.fsencode(os.path.realpath(common_dir)) + b"\0" + tag.encode()).hexdigest()
    return folder / f"{key[:32]}.json"


def read_anchor(path: Path) -> Anchor | None:
    """The anchor, None when there is none. Raises Refused E_LEDGER when it cannot be read or is damaged."""
    hint = f"look at it; without it the ledger is read with a warning: mv {path} {path}.aside"
    try:
        data = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as e:
        raise Refused("E_LEDGER", f"the ledger's anchor {path} cannot be read: {e.strerror}", hint) from e
    try:
        return msgspec.json.decode(data, type=Anchor)
    except msgspec.MsgspecError as e:
        raise Refused("E_LEDGER", f"the ledger's anchor {path} is damaged", hint) from e


def write_anchor(path: Path, anchor: Anchor, *, is_durable: bool = True) -> None:
    """Replace the anchor, mode 0600. Raises OSError."""
    atomic.make_folder(path.parent)
    atomic.write_atomic(path, _encode(anchor), mode=0o600, is_durable=is_durable)


def forget_anchor(path: Path | None) -> None:
    """Remove the anchor if it is there. Raises OSError."""
    if path is not None:
        path.unlink(missing_ok=True)


def publish(folder: Path, anchor: Anchor) -> None:
    """Tell the other users of a shared repository what this one vouches for. Raises OSError.

    Each user's own anchor is private; without this, a row of another user could not be told from a forged one.
    The file's owner is the proof of who wrote it.
    """
    atomic.make_folder(folder)
    atomic.write_atomic(folder / f"{os.geteuid()}.json", _encode(anchor), mode=0o644)


def others_published(folder: Path) -> Iterator[Anchor]:
    """What the other users vouch for: only regular files that the named user owns and nobody else may write."""
    try:
        entries = list(os.scandir(folder))
    except OSError:
        return
    for entry in entries:
        info = entry.stat(follow_symlinks=False)
        is_theirs = entry.name == f"{info.st_uid}.json" and info.st_uid != os.geteuid()
        if is_theirs and stat.S_ISREG(info.st_mode) and not info.st_mode & 0o022:
            anchor = read_anchor(Path(entry.path))
            if anchor is not None:
                yield anchor


def _encode(anchor: Anchor) -> bytes:
    return json.dumps({"schema": SCHEMA} | asdict(anchor)).encode() + b"\n"
