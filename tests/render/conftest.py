"""Rows to show."""

from __future__ import annotations

import pytest

from mjolnir.core.model import Experiment, Status

HOSTILE = (
    "[/=] [bold]x[/] \x1b[31mred\x1b[0m \x1b]0;title\x07nul\x00\nnew\tline \u202eRTL\u202c "
    "| `code` <script>alert(1)</script>"
)


@pytest.fixture
def hostile():
    """A hypothesis that tries to be markup, a terminal command, a table cell and HTML."""
    return HOSTILE


@pytest.fixture
def make_row():
    """A row; what is not said is a plain measured discard at two lengths."""

    def make(row_id=1, status="discard", **values):
        defaults = {
            "ts": "2026-03-01T00:05:00+00:00",
            "branch": "autoresearch/oct11",
            "commit": "3a90293",
            "reason": "geomean +0.4% ≤ +2%",
            "score": 1.0412,
            "best_before": 1.0,
            "correctness": "pass",
            "per_L": {"128": 1.03, "4096": 1.0525},
            "fi_us": {"128": 13.18, "4096": 44.9},
            "mj_us": {"128": 12.796, "4096": 42.66},
            "vs_best": {"128": 1.03, "4096": 1.0525},
            "agent": "autoresearch",
            "hypothesis": "split the pages",
            "rule": "gain_too_small",
        }
        return Experiment(id=row_id, status=Status(status), **(defaults | values))

    return make
