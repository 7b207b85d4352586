"""What a command that must not succeed has to leave behind: a code, two lines, and everything as it was."""

from __future__ import annotations

import subprocess


def refused(lab, code, *words, text="an idea"):
    """Evaluate; it must be refused with `code` and leave everything as it was. Returns the error object's answer."""
    before = lab.state()
    said = lab.evaluate(text, *words)
    assert (said.code, said.json and said.json["error"]["code"]) == (4, code), said.err
    assert said.json["error"]["message"]
    assert said.json["error"]["hint"]
    assert said.json["schema"] == "mjolnir.evaluate/1"
    assert lab.state() == before
    assert not lab.inflight.exists()
    return said.json


def type_hint(lab, command):
    """Do what a hint says, in a shell as a person would."""
    subprocess.run(["sh", "-c", command], cwd=lab.root, check=True, capture_output=True)


def fails(research, exit_code, *words, tag="oct11"):
    """init must fail and leave everything as it was. Returns what it said."""
    before = research.state()
    said = research.init(tag, *words)
    assert said.code == exit_code, said.err
    assert said.err.count("error: ") == 1
    assert said.err.splitlines()[-1].startswith("hint: ")
    assert said.out == ""
    assert research.state() == before
    assert not research.inflight.exists()
    return said
