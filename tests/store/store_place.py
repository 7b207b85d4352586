"""What the store's tests share: a place for a ledger, and child processes that die when told to."""

from __future__ import annotations

import json
import os
import signal
from dataclasses import dataclass
from pathlib import Path

from mjolnir.core.model import Experiment, Status
from mjolnir.store.anchor import anchor_path
from mjolnir.store.ledger import Ledger, open_ledger, start_ledger

TAG = "oct11"


def an_experiment(hypothesis="tile the pages", **values):
    defaults = {
        "id": 0,
        "ts": "2025-10-11T22:00:00+00:00",
        "branch": f"autoresearch/{TAG}",
        "commit": "0123abc",
        "status": Status.DISCARD,
        "score": 1.234567,
        "best_before": 1.2,
        "correctness": "pass",
        "per_L": {"128": 1.234567, "1024": 1.3},
        "hypothesis": hypothesis,
    }
    return Experiment(**(defaults | values))


@dataclass(frozen=True)
class Place:
    """The folders of one ledger and what a test does to it."""

    root: Path
    common_dir: Path

    def start(self) -> Ledger:
        return start_ledger(self.root, self.common_dir, tag=TAG)

    def open(self) -> Ledger:
        return open_ledger(self.root, self.common_dir, tag=TAG)

    def fill(self, count: int) -> list[Experiment]:
        ledger = self.start()
        return [ledger.append(an_experiment(f"idea {n}")) for n in range(1, count + 1)]

    @property
    def ledger(self) -> Path:
        return self.root / "research" / "ledger.jsonl"

    @property
    def view(self) -> Path:
        return self.root / "research" / "ledger.tsv"

    @property
    def mirror(self) -> Path:
        return self.common_dir / "mjolnir" / TAG / "ledger.jsonl"

    @property
    def anchor(self) -> Path:
        return anchor_path(self.common_dir, TAG)

    def torn_files(self) -> list[Path]:
        return sorted((self.root / "research").glob("ledger.torn-*"))


def in_child(work, *, uid=None):
    """Run `work()` in a forked process: {"answer": ...}, {"error", "code"}, or the signal's negative number."""
    return finish_child(start_child(work, uid=uid))


def start_child(work, *, uid=None):
    """Fork a process that runs `work()`, as the user `uid` if given; `finish_child` has its answer."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            os.close(reader)
            if uid is not None:
                os.setgroups([])
                os.setgid(uid)
                os.setuid(uid)
            os.write(writer, json.dumps({"answer": work()}).encode())
            status = 0
        except BaseException as e:  # noqa: BLE001 (a child must never return into pytest)
            os.write(writer, json.dumps({"error": f"{type(e).__name__}: {e}", "code": getattr(e, "code", "")}).encode())
        finally:
            os._exit(status)
    os.close(writer)
    return pid, reader


def finish_child(child):
    pid, reader = child
    with os.fdopen(reader, "rb") as pipe:
        text = pipe.read()
    _, status = os.waitpid(pid, 0)
    return json.loads(text) if text else os.waitstatus_to_exitcode(status)


def die_at(step, names=("write", "fsync", "replace", "ftruncate", "link"), *, halfway=False):
    """From now on the `step`-th system call of this process that changes a file is its last: SIGKILL before it.

    `halfway`: a write is cut in the middle first.
    """
    seen = 0

    def counted(name, original):
        def call(*args, **kwargs):
            nonlocal seen
            seen += 1
            if seen == step:
                if halfway and name == "write":
                    original(args[0], bytes(args[1])[: len(args[1]) // 2])
                os.kill(os.getpid(), signal.SIGKILL)
            return original(*args, **kwargs)

        return call

    for name in names:
        setattr(os, name, counted(name, getattr(os, name)))
