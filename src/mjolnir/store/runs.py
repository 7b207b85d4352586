"""Run documents: the raw record of one harness call, research/verify/<stage>/<run_id>.json, written once and kept."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from mjolnir.errors import Refused
from mjolnir.store import atomic

SCHEMA = "mjolnir.verify/1"
FOLDER = "research/verify"
_RUN_ID = re.compile(r"(\d{8}T\d{6})-(\d{6})")
_STAGE = re.compile(r"[a-z][a-z0-9_]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentRef:
    """A document on disk; nothing of it is read yet."""

    stage: str
    run_id: str
    path: Path


def write_document(root: Path, stage: str, document: Mapping[str, Any]) -> str:
    """Write a document in one step and return its run_id, which sorts after every earlier one of the stage.

    `schema`, `stage`, `run_id` and, where it is missing, `ts` are set here; NaN and inf, which JSON has not, become
    null. Raises Refused E_DISK_FULL or E_READ_ONLY.
    """
    if _STAGE.fullmatch(stage) is None:
        raise ValueError(f"{stage!r} is not the name of a stage")
    folder = root / FOLDER / stage
    now = datetime.now(UTC)
    given = {key: value for key, value in document.items() if key not in ("schema", "stage", "run_id")}
    with atomic.disk_errors(folder):
        atomic.make_folder(folder)
        while True:
            run_id = _next_id(folder, now)
            head = {"schema": SCHEMA, "stage": stage, "run_id": run_id, "ts": now.isoformat(timespec="seconds")}
            text = json.dumps(_finite(head | given), separators=(",", ":"), allow_nan=False)
            try:
                atomic.write_exclusive(folder / f"{run_id}.json", text.encode() + b"\n")
            except FileExistsError:
                continue  # another process took this id between the look and the write
            return run_id


def list_documents(root: Path, stage: str | None = None) -> tuple[DocumentRef, ...]:
    """Every document (of a stage), oldest first."""
    pattern = f"{stage}/*.json" if stage is not None and _STAGE.fullmatch(stage) else "*/*.json"
    refs = (
        DocumentRef(stage=path.parent.name, run_id=path.stem, path=path)
        for path in (root / FOLDER).glob(pattern)
        if _RUN_ID.fullmatch(path.stem) and stage in (None, path.parent.name)
    )
    return tuple(sorted(refs, key=lambda ref: (ref.run_id, ref.stage)))


def newest_document(root: Path, stage: str | None = None) -> DocumentRef | None:
    """The document that was written last (of a stage), or None."""
    return max(list_documents(root, stage), key=lambda ref: ref.run_id, default=None)


def find_document(root: Path, stage: str, run_id: str) -> DocumentRef | None:
    """The document with this id, or None."""
    return next((ref for ref in list_documents(root, stage) if ref.run_id == run_id), None)


def read_document(ref: DocumentRef) -> dict[str, Any]:
    """The document. Raises Refused E_DOCUMENT when it is gone, unreadable or damaged."""
    try:
        document = json.loads(ref.path.read_bytes())
    except OSError as e:
        raise Refused("E_DOCUMENT", f"{ref.path} cannot be read: {e.strerror}", "mjolnir verify list") from e
    except (ValueError, RecursionError) as e:
        raise Refused("E_DOCUMENT", f"{ref.path} is damaged: it is not JSON", "mjolnir verify list") from e
    if not isinstance(document, dict):
        raise Refused("E_DOCUMENT", f"{ref.path} is damaged: it is not a document", "mjolnir verify list")
    return document


def _next_id(folder: Path, now: datetime) -> str:
    """UTC second and a number within it. When the clock went back, the newest document's second goes on."""
    newest = max((path.stem for path in folder.glob("*.json") if _RUN_ID.fullmatch(path.stem)), default="")
    second = f"{now:%Y%m%dT%H%M%S}"
    match = _RUN_ID.fullmatch(newest)
    if match is None or match[1] < second:
        return f"{second}-000001"
    return f"{match[1]}-{int(match[2]) + 1:06d}"


def _finite(value: Any) -> Any:
    """The value with null in place of every float that JSON cannot hold."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value
