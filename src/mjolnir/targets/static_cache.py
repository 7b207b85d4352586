"""What was compiled or counted once is remembered in the user's cache folder: a key over all that decides it, a JSON.

Nothing there is the truth: it may be deleted at any time, and a file that cannot be read is as if it were not there.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any

_MAX_BYTES = 1 << 20


def cache_folder() -> Path | None:
    """$XDG_CACHE_HOME/mjolnir/static, else ~/.cache/mjolnir/static; None where the user has no home."""
    given = os.environ.get("XDG_CACHE_HOME", "")
    if given and os.path.isabs(given):
        return Path(given) / "mjolnir" / "static"
    home = os.environ.get("HOME", "")
    return Path(home) / ".cache" / "mjolnir" / "static" if os.path.isabs(home) else None


def cache_key(*parts: str | bytes) -> str:
    """Lower-case hex sha256 over the parts, each with its length."""
    sha = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        sha.update(len(data).to_bytes(8, "little") + data)
    return sha.hexdigest()


def source_of(*modules: object) -> bytes:
    """The text of modules that decide an entry: a newer version of them makes other entries."""
    return b"".join(Path(str(getattr(module, "__file__", ""))).read_bytes() for module in modules)


def read_entry(key: str) -> Any:
    """The JSON value of `key`; None: there is none."""
    folder = cache_folder()
    if folder is None:
        return None
    with contextlib.suppress(OSError, ValueError):
        path = folder / f"{key}.json"
        if path.stat().st_size <= _MAX_BYTES:
            return json.loads(path.read_bytes())
    return None


def write_entry(key: str, value: Any) -> None:
    """Keep `value`, whole or not at all. A folder that cannot be written costs time, nothing else."""
    folder = cache_folder()
    if folder is None:
        return
    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        fd, name = tempfile.mkstemp(prefix=".new-", dir=folder)
        try:
            with os.fdopen(fd, "w", encoding="utf-8") as f:
                json.dump(value, f)
            os.replace(name, folder / f"{key}.json")
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(name)
            raise
