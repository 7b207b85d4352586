"""A research repository on the scripted target (a double, see scripted/mjolnir_scripted.py), driven through the real
command line: in this process, or as a process of its own where signals and kills matter."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

SCRIPTED = Path(__file__).parent / "scripted"
KERNEL = "src/kernel.py"
CONFIG = """\
[run]
target = "scripted"
min_gain = 0.02
[targets.scripted]
kernel = "src/kernel.py"
lengths = [128, 1024, 4096, 16384]
min_gain = 0.05
"""
IGNORED = """\
/research/ledger.*
/research/.inflight.json
/research/progress*
/research/verify/
/research/logs/
"""


def kernel_text(speedup=1.0, outcome="measured", extra=""):
    """A kernel that the scripted target understands; two speedups are two programs, since decode uses the constants."""
    constants = f"SPEEDUP = {speedup!r}\nOUTCOME = {outcome!r}\n{extra}\n"
    body = "    values = [SPEEDUP, OUTCOME]\n    out[0] = np.array(values)\n"
    return f"import numpy as np\n\n{constants}\ndef decode(*args, out):\n{body}"


@dataclass(frozen=True, kw_only=True)
class Said:
    """What a command said. `json` is None when stdout is not exactly one JSON object."""

    code: int
    out: str
    err: str

    @property
    def json(self):
        try:
            return json.loads(self.out)
        except ValueError:
            return None


class Research:
    """The repository, and what an experimenter does in it."""

    def __init__(self, root: Path, call) -> None:
        self.root = root
        self.machine_file = root.parent / f"{root.name}-machine.json"
        self._call = call

    # -- the repository
    def git(self, *words, check=True):
        done = subprocess.run(["git", *words], cwd=self.root, capture_output=True, text=True, check=False)
        assert done.returncode == 0 or not check, f"git {words}: {done.stderr}"
        return done.stdout.strip()

    def start_repository(self, *, branch="main", config=CONFIG, commit=True):
        self.root.mkdir(parents=True)
        self.git("init", "-q", "-b", branch)
        self.write("mjolnir.toml", config)
        self.write(".gitignore", IGNORED)
        self.write("research/program.md", "make it fast\n")
        self.write(KERNEL, kernel_text())
        if commit:
            self.git("add", "-A")
            self.git("commit", "-qm", "start")
        return self

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def commit(self, text=None, *, message="an idea", **script):
        """Commit a kernel; `script`: see kernel_text. Returns the commit's full id."""
        self.write(KERNEL, kernel_text(**script) if text is None else text)
        self.git("add", "--", KERNEL)
        self.git("commit", "-qm", message)
        return self.head()

    def head(self):
        return self.git("rev-parse", "HEAD")

    def branch(self):
        return self.git("rev-parse", "--abbrev-ref", "HEAD")

    def state(self):
        """Everything that a refusal or a failure must leave as it was."""
        refs = self.git("for-each-ref", "--format=%(refname) %(objectname)")
        runs = sorted(str(p) for p in (self.root / ".git").glob("mjolnir/*/run.json"))
        state_home = Path(os.environ["XDG_STATE_HOME"])
        anchors = sorted(p.name for p in state_home.glob("mjolnir/*.json"))
        ledger = self.ledger.read_bytes() if self.ledger.exists() else None
        status = self.git("status", "--porcelain", "--untracked-files=all")
        return self.git("rev-parse", "HEAD"), self.branch(), refs, runs, anchors, ledger, status

    # -- the machine
    def machine(self, **script):
        """What the device does from now on; see mjolnir_scripted.py."""
        self.machine_file.write_text(json.dumps(script))

    # -- the command line
    def call(self, *words) -> Said:
        """Call `mjolnir` in this process."""
        answer = self._call(*words, cwd=self.root)
        return Said(code=answer.code, out=answer.out, err=answer.err)

    def init(self, tag="oct11", *words) -> Said:
        return self.call("autoresearch", "init", tag, *words)

    def started(self, tag="oct11", *words):
        """The repository itself, with a run."""
        said = self.init(tag, *words)
        assert said.code == 0, said.err
        return self

    def evaluate(self, text="an idea", *words) -> Said:
        return self.call("autoresearch", "evaluate", "-m", text, "--json", *words)

    def spawn(self, *words, **options) -> subprocess.Popen:
        """Start `mjolnir` as a process."""
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        return subprocess.Popen([sys.executable, "-m", "mjolnir.cli", *words], cwd=self.root, **{**pipes, **options})

    # -- what is on disk
    @property
    def ledger(self):
        return self.root / "research/ledger.jsonl"

    @property
    def inflight(self):
        return self.root / "research/.inflight.json"

    def rows(self):
        return [json.loads(line) for line in self.ledger.read_text().splitlines()] if self.ledger.exists() else []


class Hold:
    """A process of the command line that waits at a stage of its measurement until `go`."""

    PATIENCE_S = 60

    def __init__(self, research: Research, stage: str, *words: str) -> None:
        pipes = [research.root.parent / f"{research.root.name}-{stage}-{name}.fifo" for name in ("reached", "go")]
        for pipe in pipes:
            if not pipe.exists():
                os.mkfifo(pipe)
        research.machine(hold={stage: [str(pipe) for pipe in pipes]})
        # For reading and writing: opening waits for nobody, so a process that dies early does not stop the test.
        self._reached, self._go = (os.open(pipe, os.O_RDWR) for pipe in pipes)
        self.process = research.spawn(*(words or ("autoresearch", "evaluate", "-m", "held", "--json")))
        if not select.select([self._reached], [], [], self.PATIENCE_S)[0]:
            self.process.kill()
            raise AssertionError(f"it never reached {stage}: {self.process.communicate()}")
        os.read(self._reached, 1)

    def go(self):
        """Let it go on, and wait for its end."""
        os.write(self._go, b"x")
        return self.end()

    def signal(self, number):
        """Send a signal, and wait for its end."""
        self.process.send_signal(number)
        return self.end()

    def end(self):
        for pipe in (self._reached, self._go):
            os.close(pipe)
        return end_of(self.process)


def end_of(process) -> Said:
    """What a process said, when it has ended."""
    out, err = process.communicate(timeout=Hold.PATIENCE_S)
    return Said(code=process.returncode, out=out, err=err)
