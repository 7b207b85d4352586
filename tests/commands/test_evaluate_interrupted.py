"""Two at once, Ctrl-C, SIGTERM, kill -9 and a full disk, done to real processes at a moment that the test knows."""

from __future__ import annotations

import json
import resource
import signal

import pytest

from doubles.research import Hold, Research, end_of

pytest_plugins = ("doubles.fixtures",)


@pytest.fixture
def lab(research):
    research.started()
    research.commit(speedup=1.2)
    return research


def start_second(lab):
    """A second evaluation, which does not wait at a stage of its own. Returns it and what it says first."""
    lab.machine()
    second = lab.spawn("autoresearch", "evaluate", "-m", "second", "--json")
    return second, second.stderr.readline()


def assert_nothing_is_left(lab, before):
    assert lab.state() == before
    assert not lab.inflight.exists()
    assert not list((lab.root / "research").glob("logs/*"))


@pytest.mark.parametrize(
    ("stage", "number"),
    [
        ("preflight", signal.SIGINT),
        ("correctness", signal.SIGINT),
        ("sweep", signal.SIGINT),
        ("sweep", signal.SIGTERM),
        ("sweep", signal.SIGHUP),
    ],
    ids=lambda x: getattr(x, "name", x),
)
def test_a_signal_leaves_no_row_no_lock_no_mark_and_no_process(lab, stage, number):
    before = lab.state()
    said = Hold(lab, stage).signal(number)
    assert (said.code, said.json["error"]["code"]) == (130, "E_INTERRUPTED")
    assert said.err.splitlines()[-2:] == ["error: interrupted", "hint: nothing was recorded; run the command again"]
    assert_nothing_is_left(lab, before)
    lab.machine()
    assert lab.evaluate().json["status"] == "keep"


def test_a_signal_during_the_baseline_leaves_no_branch_behind(research):
    before = research.state()
    assert Hold(research, "sweep", "autoresearch", "init", "oct11").signal(signal.SIGINT).code == 130
    assert_nothing_is_left(research, before)
    research.machine()
    assert research.init().code == 0


def test_an_evaluation_in_progress_is_told_by_status(lab):
    hold = Hold(lab, "sweep")
    running = lab.call("autoresearch", "status", "--json").json["running"]
    assert (running["stage"], running["pid"], running["hypothesis"]) == ("sweep", hold.process.pid, "held")
    assert hold.go().json["status"] == "keep"


def test_a_killed_evaluation_is_reported_and_the_commit_evaluated_again(lab):
    before = lab.state()
    Hold(lab, "sweep").signal(signal.SIGKILL)
    assert lab.state() == before, "no row, no half row"
    log = json.loads(lab.inflight.read_text())["log"]
    assert "sweep" in (lab.root / log).read_text()
    lab.machine()
    said = lab.evaluate("once more")
    assert (said.code, said.json["status"], said.json["attempt"]) == (0, "keep", 1)
    assert all(words in said.err for words in ("nothing was recorded", log, "held"))
    assert not lab.inflight.exists()


def test_a_killed_baseline_is_reported_and_leaves_nothing_in_the_way(research):
    before = research.state()
    Hold(research, "correctness", "autoresearch", "init", "oct11").signal(signal.SIGKILL)
    assert research.state() == before
    research.machine()
    said = research.init()
    assert (said.code, "nothing was recorded" in said.err) == (0, True)


def test_two_at_once_queue_on_the_device_and_one_program_is_measured_once(lab):
    hold = Hold(lab, "sweep")
    second, first_words = start_second(lab)
    assert f"process {hold.process.pid}" in first_words
    assert "waiting" in first_words
    assert hold.go().json["status"] == "keep"
    said = end_of(second)
    assert (said.code, said.json["error"]["code"]) == (4, "E_SAME_PROGRAM")
    assert [row["hypothesis"] for row in lab.rows()][1:] == ["held"]


def test_two_work_trees_queue_on_one_device_and_both_are_recorded(tmp_path, lab, mjolnir):
    other = Research(tmp_path / "other", mjolnir)
    lab.git("worktree", "add", "-q", "--detach", str(other.root), "main")
    other.started("second")
    other.commit(speedup=1.3)
    hold = Hold(lab, "sweep")
    lab.machine()
    second = other.spawn("autoresearch", "evaluate", "-m", "second", "--json")
    assert "waiting" in second.stderr.readline()
    assert hold.go().json["status"] == "keep"
    said = end_of(second)
    assert (said.code, said.json["status"]) == (0, "keep")
    assert said.json["seconds"]["queue"] > 0


def test_ctrl_c_while_waiting_for_the_device_ends_the_waiting(lab):
    hold = Hold(lab, "sweep")
    second, _ = start_second(lab)
    second.send_signal(signal.SIGINT)
    assert end_of(second).code == 130
    assert lab.inflight.exists(), "the first one's mark is not the second's to remove"
    assert hold.go().json["status"] == "keep"
    assert lab.rows()[-1]["hypothesis"] == "held"


def test_what_is_measured_is_head_when_the_device_is_free(lab):
    hold = Hold(lab, "sweep")
    second, _ = start_second(lab)
    newer = lab.commit(speedup=1.5)
    assert hold.go().code == 0
    said = end_of(second)
    assert (said.code, said.json["commit_full"]) == (0, newer)
    assert lab.rows()[-1]["commit_full"] == newer


def test_a_commit_made_during_the_measurement_does_not_change_what_is_recorded(lab):
    measured = lab.head()
    hold = Hold(lab, "sweep")
    lab.commit(speedup=1.5)
    said = hold.go()
    assert (said.code, said.json["commit_full"]) == (0, measured)
    assert said.json["score"] == pytest.approx(1.2)


def test_a_full_disk_refuses_the_row_and_keeps_documents_and_ledger(lab):
    """A limit on the size of files stands for the full disk: only the ledger and its mirror would grow beyond it."""
    lab.evaluate("x" * 60_000)
    before = lab.ledger.read_bytes()
    limit_bytes = len(before) + 100
    lab.commit(speedup=1.5)

    def limit_files():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit_bytes, limit_bytes))

    documents = len(list((lab.root / "research/verify").rglob("*.json")))
    said = end_of(lab.spawn("autoresearch", "evaluate", "-m", "idea", "--json", preexec_fn=limit_files))
    assert (said.code, said.json["error"]["code"]) == (4, "E_DISK_FULL"), said.err
    assert lab.ledger.read_bytes() == before
    assert not lab.inflight.exists()
    assert len(list((lab.root / "research/verify").rglob("*.json"))) == documents + 3
    said = lab.evaluate("idea")
    assert (said.code, said.json["status"], said.json["attempt"]) == (0, "keep", 1)
