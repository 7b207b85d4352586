"""A worker that is asked once: whatever it does ends in an answer or in one line that says why there is none."""

import sys
import time
from pathlib import Path

import pytest

from mjolnir.errors import EnvironmentFault
from mjolnir.sandbox.answer import NoAnswer, ask_worker

DOUBLE = Path(__file__).parents[1] / "doubles" / "bad_answer.py"


@pytest.fixture
def ask(monkeypatch):
    """`ask(way, seconds)`: the answer of the double."""

    def go(way, seconds=20.0):
        def argv(module, words, scratch, *, answers, **others):
            return [sys.executable, "-I", str(DOUBLE), way, str(answers)]

        monkeypatch.setattr("mjolnir.sandbox.answer.asking_argv", argv)
        with ask_worker("module", {}, kernel=b"", request={}, memory_bytes=1 << 30) as worker:
            return worker.read_answer(time.monotonic() + seconds)

    return go


def test_an_answer_is_its_bytes(ask):
    assert ask("honest") == b"{}"


@pytest.mark.parametrize(
    ("way", "why"),
    [
        ("silent", "no answer within the time limit"),
        ("exits", r"left before its answer \(exit code 0\)"),
        ("half", "left before its answer"),
        ("huge claim", "announced an answer of 2,147,483,648 bytes"),
    ],
)
def test_a_worker_that_stands_and_breaks_the_protocol_has_no_answer(ask, way, why):
    with pytest.raises(NoAnswer, match=why):
        ask(way, 1.0 if way == "silent" else 20.0)


@pytest.mark.parametrize("way", ["never stands", "stands wrongly", "ends before it stands"])
def test_a_worker_that_does_not_stand_is_this_machine_s_fault(ask, way):
    with pytest.raises(EnvironmentFault, match="does not start here"):
        ask(way, 1.0 if way == "never stands" else 20.0)
