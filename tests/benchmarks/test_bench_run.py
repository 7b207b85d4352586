"""The whole of `make bench` at small counts, as a person starts it."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from peer import PEER_VERSION, ensure_peer, installed_version


@pytest.fixture
def bench(bench_script, tmp_path):
    """Call run.py at small counts; its figures by name."""

    def call(*names):
        out = tmp_path / "results.json"
        words = [word for name in names for word in ("--only", name)]
        done = subprocess.run(
            [sys.executable, bench_script("run.py"), "--quick", "--out", out, *words],
            capture_output=True,
            text=True,
            env=dict(os.environ),
        )
        if "not steady" in done.stderr or "no evaluation was discarded: noisy" in done.stderr:
            pytest.skip("this machine is too busy to measure on")
        assert done.returncode == 0, done.stdout + done.stderr
        answer = json.loads(out.read_text())
        assert answer["is_quick"]
        return {figure["name"]: figure for figure in answer["figures"]}

    return call


@pytest.fixture
def peer():
    try:
        ensure_peer()
    except RuntimeError as e:
        pytest.skip(f"no peer to measure beside: {e}")
    assert installed_version() == PEER_VERSION


def test_a_part_that_is_not_there_is_refused_with_the_names_of_the_others(bench_script):
    done = subprocess.run(
        [sys.executable, bench_script("run.py"), "--only", "everything"], capture_output=True, text=True
    )
    assert done.returncode == 2
    assert "status" in done.stderr


@pytest.mark.slow
def test_the_command_line_is_measured_beside_the_peer(bench, peer):
    figures = bench("help", "status", "ledger", "chart")
    assert len(figures) == 8
    assert all(figure["ours"] and figure["peer"] for figure in figures.values())


@pytest.mark.slow
def test_long_ledgers_are_measured_beside_the_peer(bench, peer):
    assert len(bench("scale")) == 4


@pytest.mark.slow
def test_the_noise_of_the_cpu_target_is_measured(bench):
    figures = bench("noise")
    assert len(figures) == 2
    assert all(figure["value"] >= 0 for figure in figures.values())


@pytest.mark.slow
def test_a_discarded_evaluation_is_measured(bench):
    wall, share = bench("evaluate").values()
    assert wall["value"] > 0
    assert 0 < share["value"] < 1
