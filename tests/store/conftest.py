from __future__ import annotations

import pytest
from repository import make_repository
from store_place import Place


@pytest.fixture
def place(tmp_path):
    """A folder with a git directory in it: the ledger needs no real repository."""
    root = tmp_path / "a répo with spaces"
    common_dir = root / ".git"
    common_dir.mkdir(parents=True)
    return Place(root, common_dir)


@pytest.fixture
def repo(tmp_path):
    """A repository with one commit on main, in a folder with a space and a letter beyond ASCII."""
    return make_repository(tmp_path / "a répo with spaces")
