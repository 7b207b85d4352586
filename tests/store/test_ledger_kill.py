"""kill -9 at every step and at any moment: at most the row being written is lost, never an older one."""

from __future__ import annotations

import itertools
import os
import random
import signal

import pytest
from store_place import an_experiment, die_at, finish_child, in_child, start_child

KILLED = -signal.SIGKILL


@pytest.mark.parametrize("halfway", [False, True], ids=["before each system call", "in the middle of each write"])
def test_a_process_killed_at_any_step_of_an_append_loses_no_older_row(place, halfway):
    kept = place.fill(2)
    outcomes = []
    for step in itertools.count(1):
        before = kept

        def append(step=step):
            ledger = place.open()
            die_at(step, halfway=halfway)
            return ledger.append(an_experiment(f"step {step}")).id

        answer = in_child(append)
        kept = require_whole(place, before)
        outcomes.append(len(kept) - len(before))
        if answer != KILLED:
            assert answer["answer"] == len(before) + 1
            break
    assert step > 8, "the append was killed at each of its steps"
    assert 0 in outcomes, "killed early, the row is not there"
    assert outcomes.count(1) > 1, "killed late, the row is there although its writer never said so"


def test_a_process_killed_while_it_mends_a_torn_ledger_loses_nothing(place):
    kept = place.fill(3)
    for step in itertools.count(1):
        tear(place.ledger)

        def mend(step=step):
            die_at(step, halfway=step % 2 == 0)
            return place.open().count()

        answer = in_child(mend)
        assert require_whole(place, kept) == kept
        if answer != KILLED:
            break
    assert step > 3


def test_a_process_killed_while_the_first_row_is_written_leaves_a_usable_run(place):
    place.start()
    for step in itertools.count(1):

        def append(step=step):
            die_at(step)
            return place.open().append(an_experiment("first")).id

        rows = require_whole(place, []) if in_child(append) == KILLED else None
        if rows is None:
            break
        if rows:
            place.ledger.unlink()
            place.mirror.unlink()
            place.anchor.unlink()
            place.start()
    assert step > 5


def test_processes_killed_at_random_moments_never_lose_an_acknowledged_row(place):
    kill_at_random(place, kills=4, seed=1)


@pytest.mark.slow
def test_two_hundred_processes_killed_at_random_moments_never_lose_an_acknowledged_row(place):
    kill_at_random(place, kills=200, seed=2)


def test_a_killed_writer_leaves_no_lock_behind(place):
    place.start()

    def die_holding_the_lock():
        ledger = place.open()
        die_at(2)
        ledger.append(an_experiment("never"))

    assert in_child(die_holding_the_lock) == KILLED
    assert place.open().append(an_experiment("next")).id == 1


def kill_at_random(place, *, kills, seed):
    """Two writers at once, both killed after a random count of acknowledged rows, wherever they are by then."""
    rng = random.Random(seed)
    place.start()
    for _ in range(kills):
        reader, writer = os.pipe()

        def write_for_ever(writer=writer):
            ledger = place.open()
            while True:
                row = ledger.append(an_experiment("x" * rng.randrange(9000)))
                os.write(writer, f"{row.id}\n".encode())

        children = [start_child(write_for_ever) for _ in range(2)]
        os.close(writer)
        acknowledged = []
        with os.fdopen(reader, "r") as pipe:
            for _ in range(rng.randrange(1, 8)):
                acknowledged.append(int(pipe.readline()))
            for _ in range(rng.randrange(20_000)):
                pass  # a moment of random length, so that the kill meets every step
            for pid, _ in children:
                os.kill(pid, signal.SIGKILL)
            for child in children:
                assert finish_child(child) == KILLED
            acknowledged += [int(line) for line in pipe if line.endswith("\n")]
        ids = [row.id for row in require_whole(place, [])]
        assert set(acknowledged) <= set(ids)
        assert ids == list(range(1, len(ids) + 1))


def require_whole(place, older):
    """Open it as the next command would; everything agrees, and the `older` rows are there. Returns all rows."""
    ledger = place.open()
    assert ledger.problem is None, ledger.problem.message
    assert ledger.check().ok
    assert ledger.verify().ok
    rows = ledger.rows()
    assert rows[: len(older)] == older
    assert len(rows) <= len(older) + 1 or not older
    if rows:
        assert place.mirror.read_bytes() == place.ledger.read_bytes()
        assert place.view.read_text().count("\n") == len(rows) + 1
    assert place.open().notices == [], "the second command has nothing more to mend"
    return rows


def tear(path):
    os.truncate(path, path.stat().st_size - 7)
