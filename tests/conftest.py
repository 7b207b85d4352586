"""What every test shares: its own home, state folder and git identity, and the command line in this process."""

from __future__ import annotations

import platform
from dataclasses import dataclass

import pytest
from hypothesis import HealthCheck, settings

# A busy machine draws slowly: that says nothing of the code.
settings.register_profile("mjolnir", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("mjolnir")


def pytest_report_header():
    return f"mjolnir tests on {platform.python_implementation()} {platform.python_version()}, {platform.machine()}"


@pytest.fixture(scope="session")
def _font_cache(tmp_path_factory):
    """matplotlib lists the fonts of a new home for seconds: once a session is enough."""
    return tmp_path_factory.mktemp("fonts")


@pytest.fixture(autouse=True)
def _own_environment(tmp_path_factory, monkeypatch, _font_cache):
    """No test reads or writes the user's git configuration or state folder."""
    home = tmp_path_factory.mktemp("home")
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("MPLCONFIGDIR", str(_font_cache))
    monkeypatch.setenv("XDG_STATE_HOME", str(home / "state"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "A Tester")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "tester@localhost")


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What a command said."""

    code: int
    out: str
    err: str


@pytest.fixture
def mjolnir(capfd, monkeypatch):
    """Call the command line in this process: `mjolnir("doctor", "--json", cwd=folder) -> Answer`."""
    from mjolnir.cli import main

    def call(*words, cwd=None):
        if cwd is not None:
            monkeypatch.chdir(cwd)
        capfd.readouterr()
        with pytest.raises(SystemExit) as leaving:
            main([str(word) for word in words])
        out, err = capfd.readouterr()
        return Answer(code=int(leaving.value.code or 0), out=out, err=err)

    return call
