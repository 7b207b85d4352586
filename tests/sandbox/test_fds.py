"""A file descriptor for a worker works under a number that tells nothing."""

import os
import resource

import pytest

from mjolnir.sandbox.fds import move_fd


@pytest.fixture
def moved():
    """Moves one end of a new pipe: (its new number, its old number, the other end); all are closed afterwards."""
    opened = []

    def move():
        reads, writes = os.pipe()
        opened.append(writes)
        new = move_fd(reads)
        opened.append(new)
        return new, reads, writes

    yield move
    for fd in opened:
        os.close(fd)


def test_it_still_carries_and_no_program_inherits_it(moved):
    new, _, writes = moved()
    os.write(writes, b"x")
    assert os.read(new, 1) == b"x"
    assert not os.get_inheritable(new)


def test_the_old_number_is_free_again(moved):
    _, old, _ = moved()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(old)


def test_numbers_do_not_follow_the_order_of_opening(moved):
    numbers = [moved()[0] for _ in range(12)]
    assert numbers != sorted(numbers)
    assert min(numbers) >= 64
    assert max(numbers) < 1024


def test_where_few_files_are_allowed_the_number_stays(monkeypatch, moved):
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (100, 100))
    new, old, _ = moved()
    assert new == old
