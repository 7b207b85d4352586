"""A finished run to audit, and the hands that forge one: rows edited and every hash, copy and anchor made to fit."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
from pathlib import Path

from doubles.research import SCRIPTED, Research, Said
from mjolnir.store.anchor import anchor_path
from mjolnir.store.codec import row_hash

TAG = "oct11"


def in_process(monkeypatch):
    """A `call` for Research that needs no fixture of a single test."""
    from mjolnir.cli import main

    def call(*words, cwd):
        monkeypatch.chdir(cwd)
        out, err = io.StringIO(), io.StringIO()
        code = 0
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                main([str(word) for word in words])
            except SystemExit as leaving:
                code = int(leaving.code or 0)
        return Said(code=code, out=out.getvalue(), err=err.getvalue())

    return call


def set_environment(monkeypatch, home: Path):
    """What tests/conftest.py and doubles/fixtures.py set for one test, for longer than one."""
    for name, value in {
        "HOME": home,
        "XDG_STATE_HOME": home / "state",
        "GIT_CONFIG_NOSYSTEM": "1",
        "PYTHONPATH": SCRIPTED,
        "MJOLNIR_SCRIPTED": home / "lab-machine.json",
    }.items():
        monkeypatch.setenv(name, str(value))
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "A Tester")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "tester@localhost")
    monkeypatch.syspath_prepend(str(SCRIPTED))


def run_experiments(lab: Research, rule: str, *, is_calibrated: bool = False):
    """A run with every kind of row that the command line writes; each evaluation has to end with 0."""

    def tried(wanted, *words, **script):
        champion = next(row for row in reversed(lab.rows()) if row["status"] in ("keep", "baseline"))
        lab.commit(**script)
        said = lab.evaluate("an idea", *words)
        assert (said.code, said.json and said.json["status"]) == (0, wanted), (said.out, said.err)
        if wanted != "keep":
            lab.git("reset", "-q", "--hard", champion["commit_full"])

    assert lab.init(TAG, "--rule", rule, "--no-calibrate").code == 0
    if is_calibrated:
        lab.machine(race_noise={str(n): [1.01, 1.0, 0.99, 1.0] for n in (128, 1024, 4096, 16384)}, unsteady="")
        said = lab.call("autoresearch", "calibrate", "--runs", "4")
        assert said.code == 0, (said.out, said.err)
        lab.machine()
    tried("keep", speedup=1.3)
    tried("discard", speedup=1.305)
    tried("discard", speedup=2.0, outcome="incorrect")
    lab.machine(race_noise={str(n): [1.25] for n in (128, 1024, 4096, 16384)}, unsteady="")
    tried("keep" if rule == "seed" else "discard", speedup=1.45)
    lab.machine()
    tried("crash", speedup=2.1, outcome="crash")
    tried("invalid", speedup=2.2, outcome="E_STATE")
    tried("keep", speedup=1.9)
    lab.machine(unsteady="the machine was busy")
    tried("noisy", speedup=2.5)
    lab.machine()
    tried("discard", "--ls", "128 1024", speedup=2.6)


class Lab:
    """A copy of a finished run, in a repository of its own, with its anchor where its path wants it."""

    def __init__(self, source: Research, state: Path, root: Path, call) -> None:
        shutil.copytree(source.root, root, symlinks=True)
        self.root = root
        self.research = Research(root, call)
        self.git = self.research.git
        self.anchor.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(next((state / "mjolnir").glob("*.json")), self.anchor)

    @property
    def anchor(self) -> Path:
        return anchor_path(self.root / ".git", TAG)

    @property
    def ledger(self) -> Path:
        return self.root / "research/ledger.jsonl"

    @property
    def mirror(self) -> Path:
        return self.root / ".git/mjolnir" / TAG / "ledger.jsonl"

    @property
    def run_json(self) -> Path:
        return self.root / ".git/mjolnir" / TAG / "run.json"

    def lines(self) -> list[bytes]:
        return self.ledger.read_bytes().splitlines(keepends=True)

    def rows(self) -> list[dict]:
        return [json.loads(line) for line in self.lines()]

    def write(self, lines, *, mirror=True):
        """Ledger and, unless told otherwise, mirror hold these lines."""
        data = b"".join(lines)
        self.ledger.write_bytes(data)
        if mirror:
            self.mirror.write_bytes(data)

    def forge(self, rows, *, anchor=True):
        """These rows with the whole chain computed anew, in both copies; `anchor` False leaves that as it was."""
        before, lines = None, []
        for row in rows:
            row["prev"] = before
            before = row["hash"] = row_hash(row)
            lines.append(json.dumps(row, separators=(",", ":")).encode() + b"\n")
        self.write(lines)
        if anchor:
            self.write_anchor(rows=len(lines), size_bytes=sum(map(len, lines)), last_hash=before)

    def write_anchor(self, **values):
        self.anchor.write_text(json.dumps(json.loads(self.anchor.read_text()) | values))

    def row(self, status, rule=None) -> int:
        """The place of the first row with this status (and rule)."""
        return next(n for n, row in enumerate(self.rows()) if row["status"] == status and rule in (None, row["rule"]))

    def state(self) -> dict[str, bytes]:
        """Every file of the repository and the state folder: what an audit must leave as it was."""
        places = (self.root, Path(os.environ["XDG_STATE_HOME"]))
        return {str(p): p.read_bytes() for place in places for p in sorted(place.rglob("*")) if p.is_file()}

    def audit(self, *words) -> Said:
        return self.research.call("autoresearch", "audit", *words)

    def findings(self, *words) -> list[dict]:
        """What `audit --json` found; its exit code has to say the same, and it must have written nothing."""
        before = self.state()
        said = self.audit("--json", *words)
        assert said.json is not None, (said.out, said.err)
        answer = said.json
        assert answer["schema"] == "mjolnir.audit/1"
        assert (answer["ok"], said.code) == ((False, 1) if answer["findings"] else (True, 0))
        assert ("error" in answer) == (said.code == 1)
        assert all(list(finding) == ["code", "row", "message", "hint"] for finding in answer["findings"])
        assert all(finding["message"] and finding["hint"] for finding in answer["findings"])
        if "--repair" not in words:
            assert self.state() == before
        return answer["findings"]

    def codes(self, *words) -> set[tuple[str, int | None]]:
        return {(finding["code"], finding["row"]) for finding in self.findings(*words)}
