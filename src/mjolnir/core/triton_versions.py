"""Which Triton's interpreter may judge a kernel: a fact that host and worker share."""

from __future__ import annotations

TESTED_VERSIONS = ("3.9.0",)
"""Triton versions whose interpreter was compared, code by code, with worker/exact_interpreter.py's arithmetic."""


def untested_sentence(version: str) -> str:
    """Why the interpreter of `version` may not judge; empty: it may."""
    if version in TESTED_VERSIONS:
        return ""
    tested = ", ".join(TESTED_VERSIONS)
    return f"the interpreter of Triton {version} was never compared with the hardware's arithmetic (tested: {tested})"
