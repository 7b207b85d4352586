"""One thing that `audit` found: something in a run that does not follow from the rest of it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditFinding:
    """`row` is the id of the row it is about, None when it is about no single one; `hint` is what to do or to type."""

    code: str
    message: str
    hint: str
    row: int | None = None

    def as_json(self) -> dict[str, Any]:
        """The keys of the JSON answer, in its order."""
        found = asdict(self)
        return {key: found[key] for key in ("code", "row", "message", "hint")}
