"""The wall clock may jump, back or forward, during an evaluation and between two: only the text in `ts` shows it."""

from __future__ import annotations

import itertools
import json
import os
import signal
from datetime import UTC, datetime, timedelta

import pytest

from doubles.research import Hold
from mjolnir.loop import surroundings
from mjolnir.store import runs, torn

pytest_plugins = ("doubles.fixtures",)

START = datetime(2025, 10, 11, 22, 0, 0, tzinfo=UTC)
STEPS = {
    "back": [timedelta(days=-n) for n in range(200)],
    "to and fro": [timedelta(days=n * (-1) ** n) for n in range(200)],
    "standing still": [timedelta()],
}
STATUSES = ["baseline", "keep", "discard", "keep", "crash", "discard"]


class Clock(datetime):
    """A wall clock that makes the next of its steps whenever it is read."""

    steps = iter(())

    @classmethod
    def now(cls, tz=None):
        return START + next(cls.steps)


def set_clock(monkeypatch, steps):
    monkeypatch.setattr(Clock, "steps", itertools.cycle(steps))
    for module in (surroundings, runs, torn):
        monkeypatch.setattr(module, "datetime", Clock)


@pytest.mark.parametrize("steps", STEPS.values(), ids=STEPS)
def test_a_run_is_the_same_under_a_clock_that_jumps_at_every_reading(research, monkeypatch, steps):
    set_clock(monkeypatch, steps)
    research.started("oct11", "--no-calibrate")
    for script in (
        {"speedup": 1.2},
        {"speedup": 1.2001},
        {"speedup": 1.5},
        {"speedup": 1.6, "outcome": "crash"},
        {"speedup": 1.7, "outcome": "incorrect"},
    ):
        research.commit(**script)
        said = research.evaluate(str(script), "--apply")
        assert said.code == 0, said.err
    rows = research.rows()
    assert [(row["id"], row["status"]) for row in rows] == list(enumerate(STATUSES, start=1))
    assert [row["champion_id"] for row in rows] == [None, 1, 2, 2, 4, 4]
    for row in rows:
        assert datetime.fromisoformat(row["ts"]).tzinfo is not None
        assert all(0 <= seconds < 3600 for seconds in row["seconds"].values()), row["seconds"]
    documents_are_in_order(research, rows)
    views_are_in_order(research)


def documents_are_in_order(research, rows):
    for stage in ("correctness", "sweep"):
        named = [row["verify_runs"][stage] for row in rows if row["verify_runs"][stage]]
        assert named == sorted(set(named))
    newest = research.call("verify", "show", "sweep", "--json").json
    assert newest["run_id"] == rows[3]["verify_runs"]["sweep"]


def views_are_in_order(research):
    shown = research.call("autoresearch", "ledger", "--json").json["rows"]
    assert [row["id"] for row in shown] == [1, 2, 3, 4, 5, 6]
    lines = (research.root / "research/ledger.tsv").read_text().splitlines()
    assert [line.split("\t")[0] for line in lines[1:]] == ["1", "2", "3", "4", "5", "6"]
    status = research.call("autoresearch", "status", "--json").json
    assert (status["champion"]["id"], status["total"], status["chain"]["ok"]) == (4, 6, True)
    assert research.call("autoresearch", "status", "--brief").code == 0
    assert research.call("autoresearch", "chart").code == 0
    assert research.call("autoresearch", "export", "--csv").code == 0
    exported = (research.root / "research/runs/oct11/ledger.jsonl").read_text().splitlines()
    assert [json.loads(line)["id"] for line in exported] == [1, 2, 3, 4, 5, 6]


def test_the_logs_of_two_crashes_of_one_second_are_both_whole(research, monkeypatch):
    research.started("oct11", "--no-calibrate")
    set_clock(monkeypatch, [timedelta()])
    for word, speedup in (("first", 1.6), ("other", 1.7)):
        research.commit(speedup=speedup, outcome="crash", extra=f"LOG = {word!r}")
        row = research.evaluate(word).json
        assert row["status"] == "crash"
        assert word in (research.root / row["log"]).read_text()
        research.git("reset", "--hard", "-q", "HEAD~1")


def test_an_evaluation_in_progress_is_known_by_its_process_and_not_by_its_start(research):
    research.started("oct11", "--no-calibrate")
    research.commit(speedup=1.3)
    hold = Hold(research, "sweep")
    try:
        for started in ("1969-12-31T23:59:59+00:00", "2999-01-01T00:00:00+00:00"):
            mark = json.loads(research.inflight.read_text())
            research.inflight.write_text(json.dumps(mark | {"started": started}))
            assert is_running(research) is True
    finally:
        hold.signal(signal.SIGKILL)
    assert is_running(research) is False
    research.machine()
    again = research.evaluate("again")
    assert (again.code, again.json["status"]) == (0, "keep")
    assert "its process died" in again.err
    assert not research.inflight.exists()


def is_running(research):
    running = research.call("autoresearch", "status", "--json").json["running"]
    return running and running["alive"]


def test_files_that_seem_to_be_of_the_future_are_read_and_replaced_like_others(research):
    research.started("oct11", "--no-calibrate")
    for path in (research.root / "research").iterdir():
        os.utime(path, (32_503_680_000, 32_503_680_000))
    research.commit(speedup=1.3)
    assert research.evaluate().json["status"] == "keep"
    assert (research.root / "research/ledger.tsv").read_text().count("\n") == 3
    assert research.call("autoresearch", "status", "--json").json["chain"]["ok"] is True


def test_two_torn_lines_of_one_second_are_both_set_aside(research, monkeypatch):
    research.started("oct11", "--no-calibrate")
    set_clock(monkeypatch, [timedelta()])
    for text in ('{"id": 2, "half', '{"id": 2, "other half'):
        with research.ledger.open("a") as file:
            file.write(text)
        research.commit(speedup=1.0, message=text, extra=f"# {text}")
        assert research.evaluate(text).code in (0, 4)
    aside = sorted(research.root.glob("research/ledger.torn-*"))
    assert [path.read_text()[-4:] for path in aside] == ["half", "half"]


def test_the_calibration_that_was_written_last_counts_though_its_time_is_older(research, monkeypatch):
    research.started("oct11", "--no-calibrate")
    ids = []
    for days in (400, -400):
        set_clock(monkeypatch, [timedelta(days=days)])
        said = research.call("autoresearch", "calibrate", "--runs", "2", "--json")
        assert said.code == 0, said.err
        ids.append(said.json["id"])
    assert ids[1] < ids[0]
    assert research.call("autoresearch", "status", "--json").json["calibration"]["id"] == ids[1]
    research.commit(speedup=1.3)
    assert research.evaluate().json["status"] == "keep"
    assert research.rows()[-1]["params"]["calibration"]["id"] == ids[1]
