"""What the tests of the Triton kernel share: the process in which Triton interprets."""

from __future__ import annotations

import sys

import pytest
from interpreted import Interpreted


@pytest.fixture(scope="session")
def interpreted():
    """Call a function in the process where Triton interprets; see interpreted.py."""
    if sys.platform != "linux":
        pytest.skip("Triton is published for Linux alone")
    server = Interpreted()
    yield server
    server.close()
