"""What `init` froze, against the anchor, against itself, against the installed package, and against every row."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from mjolnir.config import build_config
from mjolnir.core.audit_finding import AuditFinding
from mjolnir.core.model import Experiment
from mjolnir.errors import ConfigFault
from mjolnir.store.anchor import Anchor
from mjolnir.store.fingerprint import harness_hash
from mjolnir.store.ledger_files import run_folder
from mjolnir.store.run_state import FILE, RunState, hash_config

_NEW_RUN = "the frozen configuration of a run never changes: start a new run, mjolnir autoresearch init TAG"
_INSTALL = "install the version that began the run, or believe only what was measured before the change"


@dataclass(frozen=True, slots=True, kw_only=True)
class Frozen:
    """`exists`: there is a run.json, readable or not. `state` None: it says nothing that can be used."""

    exists: bool
    state: RunState | None
    findings: tuple[AuditFinding, ...]


def read_frozen(common_dir: Path, tag: str, anchor: Anchor | None) -> Frozen:
    """run.json whatever is wrong with it, and all that is wrong with it."""
    path = run_folder(common_dir, tag) / FILE
    try:
        data = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return Frozen(exists=False, state=None, findings=())
    except OSError as e:
        problem = _config(f"{path} cannot be read: {e.strerror}", f"chmod u+r '{path}'")
        return Frozen(exists=True, state=None, findings=(problem,))
    try:
        state = msgspec.json.decode(data, type=RunState)
    except (msgspec.MsgspecError, RecursionError):
        return Frozen(exists=True, state=None, findings=(_config(f"{path} is damaged", _NEW_RUN),))
    faults = list(_faults(state, tag))
    known = anchor.run_hash if anchor is not None else None
    if known is not None and known != hashlib.sha256(data).hexdigest():
        faults.append("is not the one that the anchor remembers: it was edited since init")
    return Frozen(exists=True, state=state, findings=tuple(_config(f"{path} {what}", _NEW_RUN) for what in faults))


def _faults(state: RunState, tag: str) -> Iterator[str]:
    if state.tag != tag:
        yield "is of another run"
    if state.config_hash != hash_config(state.config):
        yield "holds a configuration of another hash: it was edited since init"
    try:
        config = build_config(state.config, where=FILE)
        section = config.targets[state.target]
    except (ConfigFault, KeyError, TypeError):
        yield "holds a configuration that makes no sense"
        return
    if state.min_gain != config.min_gain(state.target) or state.kernel != section.kernel:
        yield "names another kernel or another least gain than its own configuration"


def check_frozen(frozen: Frozen, rows: Sequence[Experiment]) -> Iterator[AuditFinding]:
    """The installed package and every row against run.json."""
    yield from frozen.findings
    state = frozen.state
    if state is None:
        if not frozen.exists and any(row.schema is not None for row in rows):
            what = "this repository has no run.json of this run: nothing says under which terms it was judged"
            yield AuditFinding(
                code="E_RUN", message=what, hint="audit it where it was measured, or bring run.json back"
            )
        return
    if harness_hash() != state.harness_hash:
        yield AuditFinding(
            code="E_HARNESS", message="the installed mjolnir is not the one that the run began with", hint=_INSTALL
        )
    for row in rows:
        if row.schema is None:
            continue
        if row.harness_hash != state.harness_hash:
            what = f"row #{row.id} was measured by another mjolnir than the run began with"
            yield AuditFinding(code="E_HARNESS", row=row.id, message=what, hint=_INSTALL)
        if row.config_hash != state.config_hash or row.target != state.target:
            what = f"row #{row.id} was measured under another configuration or target than init froze"
            yield AuditFinding(code="E_CONFIG", row=row.id, message=what, hint=_NEW_RUN)


def _config(message: str, hint: str) -> AuditFinding:
    return AuditFinding(code="E_CONFIG", message=message, hint=hint)
