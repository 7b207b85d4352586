"""The fixtures that tests of the loop share. A test file asks for them with pytest_plugins = ("doubles.fixtures",)."""

from __future__ import annotations

import os

import pytest

from doubles.research import SCRIPTED, Research


@pytest.fixture
def research(tmp_path, monkeypatch, mjolnir):
    """A research repository on the scripted target, committed, without a run."""
    monkeypatch.syspath_prepend(str(SCRIPTED))
    found = os.environ.get("PYTHONPATH")
    monkeypatch.setenv("PYTHONPATH", f"{SCRIPTED}{os.pathsep}{found}" if found else str(SCRIPTED))
    lab = Research(tmp_path / "lab", mjolnir)
    monkeypatch.setenv("MJOLNIR_SCRIPTED", str(lab.machine_file))
    return lab.start_repository()


@pytest.fixture
def lab(research):
    """The same with a run and its baseline."""
    return research.started()
