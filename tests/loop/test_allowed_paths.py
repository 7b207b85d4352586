"""Which files beside the kernel a commit may touch."""

from __future__ import annotations

import pytest

from mjolnir.loop.guard import is_allowed


@pytest.mark.parametrize("path", ["research/program.md", "docs/a.md", "docs/deep/b.md"])
def test_an_entry_names_a_file_or_a_folder(path):
    assert is_allowed(path, ("research/program.md", "docs/"))


@pytest.mark.parametrize("path", ["research/program.md.py", "research/other.md", "docs2/a.md", "x/docs/a.md"])
def test_nothing_else_is_allowed(path):
    assert not is_allowed(path, ("research/program.md", "docs"))


@pytest.mark.parametrize("path", ["mjolnir.toml", "opencode.json", ".opencode/agent/x.md", ".opencode"])
def test_what_steers_judge_or_agent_is_never_allowed(path):
    assert not is_allowed(path, (path, ".opencode", "opencode.json", "mjolnir.toml"))
