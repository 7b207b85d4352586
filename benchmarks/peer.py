"""The peer: mjolnir-cli 0.2.0 from PyPI, in an environment of its own beside the benchmarks."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PEER_NAME = "mjolnir-cli"
PEER_VERSION = "0.2.0"
MATPLOTLIB = "matplotlib==3.11.2"
"""The version this project pins. Without it the peer's `chart` draws nothing and says that it skipped."""
PEER_FOLDER = Path(__file__).resolve().parent / ".peer-venv"
PEER_PYTHON = PEER_FOLDER / "bin" / "python"
PEER_COMMAND = PEER_FOLDER / "bin" / "mjolnir"


def installed_version() -> str | None:
    """The peer's version in its environment, None where that is missing or broken."""
    words = f"import importlib.metadata as m, matplotlib; print(m.version({PEER_NAME!r}))"
    try:
        answer = subprocess.run([str(PEER_PYTHON), "-c", words], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return answer.stdout.strip()


def ensure_peer() -> None:
    """Make the peer's environment unless it is there. Raises RuntimeError with pip's own words."""
    if installed_version() == PEER_VERSION:
        return
    steps = (
        [sys.executable, "-m", "venv", "--clear", str(PEER_FOLDER)],
        [str(PEER_PYTHON), "-m", "pip", "install", "--quiet", f"{PEER_NAME}=={PEER_VERSION}", MATPLOTLIB],
    )
    for words in steps:
        done = subprocess.run(words, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"the peer {PEER_NAME} {PEER_VERSION} cannot be installed:\n{done.stderr.strip()}")
        # An environment is no part of the repository: it hides itself from git and from whoever asks git.
        (PEER_FOLDER / ".gitignore").write_text("*\n", encoding="utf-8")
    if installed_version() != PEER_VERSION:
        raise RuntimeError(f"{PEER_FOLDER.name} does not hold {PEER_NAME} {PEER_VERSION} after the installation")
