"""The fixtures of the audit's tests: each finished run is measured once, and every test gets a copy of its own."""

from __future__ import annotations

import pytest
from audit_forge import Lab, in_process, run_experiments, set_environment

from doubles.research import SCRIPTED, Research


def _finished(tmp_path_factory, rule, *, is_calibrated=False):
    home = tmp_path_factory.mktemp(f"finished-{rule}")
    with pytest.MonkeyPatch.context() as patch:
        set_environment(patch, home)
        lab = Research(home / "lab", in_process(patch)).start_repository()
        run_experiments(lab, rule, is_calibrated=is_calibrated)
    return lab, home / "state"


@pytest.fixture(scope="session")
def confirmed_run(tmp_path_factory):
    """A finished run under the rule confirmed, and its state folder."""
    return _finished(tmp_path_factory, "confirmed")


@pytest.fixture(scope="session")
def seed_run(tmp_path_factory):
    """A finished run under the rule seed, and its state folder."""
    return _finished(tmp_path_factory, "seed")


@pytest.fixture(scope="session")
def calibrated_run(tmp_path_factory):
    """A finished run under the rule confirmed that began with a calibration, and its state folder."""
    return _finished(tmp_path_factory, "confirmed", is_calibrated=True)


@pytest.fixture
def copy_of(tmp_path, monkeypatch, mjolnir):
    """Make a Lab of a finished run."""
    monkeypatch.syspath_prepend(str(SCRIPTED))

    def copy(finished):
        return Lab(*finished, tmp_path / "lab", mjolnir)

    return copy


@pytest.fixture
def ended(copy_of, confirmed_run):
    """A finished run under the rule confirmed."""
    return copy_of(confirmed_run)
