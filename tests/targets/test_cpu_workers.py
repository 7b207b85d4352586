"""Workers side by side: an error in one ends all, and what a kernel leaves behind is found and laid at its own door."""

import subprocess
from types import SimpleNamespace

import pytest

from mjolnir.core.model import Tampered
from mjolnir.errors import EnvironmentFault
from mjolnir.sandbox.leftovers import own_children
from mjolnir.targets.cpu_leg import Leg
from mjolnir.targets.cpu_startup import start_together
from mjolnir.targets.cpu_workers import end_leftovers

SLEEPS = ["sleep", "60"]
HAS_CHILD = ["sh", "-c", "sleep 60 & echo started; wait"]


@pytest.fixture
def start_process():
    """Starts a process in place of a worker, in a session of its own; it is gone after the test."""
    processes = []

    def start(argv):
        process = subprocess.Popen(argv, stdout=subprocess.PIPE, start_new_session=True)
        processes.append(process)
        if argv is HAS_CHILD:
            process.stdout.readline()
        return process

    yield start
    for process in processes:
        process.kill()
        process.communicate()


def leg_of(process, role, *, is_reference=False):
    worker = SimpleNamespace(pid=process.pid, process=process, pause=lambda: None)
    return Leg(worker, role, is_reference=is_reference)


def test_legs_start_side_by_side_and_answer_in_their_order(start_process):
    legs = [leg_of(start_process(SLEEPS), role) for role in ("champion", "candidate", "reference")]
    seen = []

    def start(leg):
        seen.append(leg.role)

    assert start_together(legs, start, frozenset()) == [None, None, None]
    assert sorted(seen) == ["candidate", "champion", "reference"]


def test_an_error_of_one_leg_ends_the_others_at_once(start_process):
    legs = [leg_of(start_process(SLEEPS), role) for role in ("champion", "candidate")]

    def start(leg):
        if leg.role == "candidate":
            leg.worker.process.wait()
            return
        raise EnvironmentFault("E_WORKER", "no worker starts", "mjolnir doctor")

    with pytest.raises(EnvironmentFault, match="no worker starts"):
        start_together(legs, start, frozenset({0, 1}))
    assert [leg.worker.process.wait() for leg in legs] == [-9, -9]


@pytest.mark.parametrize("guilty", ["champion", "candidate"])
def test_a_process_left_behind_belongs_to_the_leg_that_started_it(start_process, guilty):
    known = own_children()
    legs = [leg_of(start_process(HAS_CHILD if role == guilty else SLEEPS), role) for role in ("candidate", "champion")]
    found = end_leftovers(legs, known | {leg.worker.pid for leg in legs})
    assert found is not None
    assert found.role == guilty
    assert isinstance(found.finding, Tampered)
    assert found.finding.code == "E_LEFTOVER"


def test_nothing_left_behind_is_no_finding(start_process):
    known = own_children()
    legs = [leg_of(start_process(SLEEPS), role) for role in ("champion", "candidate")]
    assert end_leftovers(legs, known | {leg.worker.pid for leg in legs}) is None
