"""The benchmarks are scripts in a folder of their own: their tests find them there."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
sys.path.append(str(BENCHMARKS))


@pytest.fixture
def bench_script():
    """The path of a script of the benchmarks."""
    return lambda name: BENCHMARKS / name
