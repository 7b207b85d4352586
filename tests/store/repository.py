"""A real repository with a kernel in it, moved by git itself."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

from mjolnir.store.git import Git

KERNEL = "src/mjolnir_kernel/cpu_decode.py"


@dataclass(frozen=True)
class Repository:
    root: Path

    @property
    def git(self) -> Git:
        return Git.find(self.root)

    def run(self, *args: str, stdin: str = "") -> str:
        done = subprocess.run(["git", *args], cwd=self.root, input=stdin, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout.rstrip("\n")

    def write(self, path: str, text: str | bytes) -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return file

    def commit(self, files: dict[str, str | bytes | None], message: str = "change") -> str:
        """Write (None: remove) files, commit exactly them, return the commit's id."""
        for path, text in files.items():
            if text is None:
                self.run("rm", "-q", "--", path)
            else:
                self.write(path, text)
                self.run("add", "--", path)
        self.run("commit", "-q", "-F", "-", stdin=message)
        return self.run("rev-parse", "HEAD")


def make_repository(root: Path) -> Repository:
    root.mkdir(parents=True)
    repo = Repository(root)
    repo.run("init", "-q")
    repo.run("symbolic-ref", "HEAD", "refs/heads/main")
    repo.commit({KERNEL: "one\n", "README.md": "one\n", "a dir/ünïcode näme.txt": "x\n"}, "first")
    return repo
