"""The kernel that a row of the ledger measured, read out of its commit."""

from __future__ import annotations

from mjolnir.core.model import Experiment
from mjolnir.errors import Refused
from mjolnir.loop.run_lookup import OpenRun
from mjolnir.store.foreign_text import one_line
from mjolnir.targets.protocol import KernelSource


def kernel_of_row(run: OpenRun, row: Experiment, name: str) -> KernelSource:
    """`name` is what messages call the row. Raises Refused E_LINEAGE, E_LEDGER, E_NOT_REGULAR, E_OBJECTS."""
    wanted = row.commit_full or row.commit or ""
    commit = run.git.resolve(wanted)
    if commit is None:
        raise Refused(
            "E_LINEAGE",
            f"the commit {one_line(wanted or '?', 40)} of {name} #{row.id} is gone from the repository",
            "bring it back (git fsck --lost-found, or git fetch from a copy), then run this again",
        )
    blob = run.git.read_blob(commit, run.state.kernel)
    if blob.sha != row.kernel_blob:
        raise Refused(
            "E_LEDGER",
            f"{run.state.kernel} at {commit[:12]} is {blob.sha[:12]}, but the row of {name} #{row.id} measured "
            f"{one_line(row.kernel_blob or 'nothing', 12)}",
            f"mjolnir autoresearch show {row.id}; bring ledger or commit back from a copy",
        )
    return KernelSource(blob=blob.data, name=run.state.kernel, origin=commit)
