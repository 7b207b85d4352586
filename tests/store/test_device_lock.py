from __future__ import annotations

import os
import signal
import tempfile
from pathlib import Path

import pytest
from store_place import finish_child, in_child, start_child

from mjolnir.errors import EnvironmentFault
from mjolnir.store.device_lock import device_lock, lock_path

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: becomes another user")


@pytest.fixture
def shared():
    """A sticky folder that every user may write to, as /tmp is."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o1777)
    yield folder
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()


def hold(shared, *, uid=None):
    """A child that holds the device until it is told; (child, the pipe's end that ends it)."""
    ready, say_ready = os.pipe()
    reader, writer = os.pipe()

    def work():
        os.close(writer)
        with device_lock("cpu", folder=shared):
            os.write(say_ready, b"x")
            os.read(reader, 1)

    child = start_child(work, uid=uid)
    assert os.read(ready, 1) == b"x"
    for fd in (ready, say_ready, reader):
        os.close(fd)
    return child, writer


def release(held):
    child, writer = held
    os.write(writer, b"x")
    os.close(writer)
    finish_child(child)


def test_a_free_device_is_taken_without_waiting(shared):
    with device_lock("cpu", pytest.fail, folder=shared):
        pass
    with device_lock("cpu", pytest.fail, folder=shared):
        pass


def test_a_second_evaluation_waits_and_names_the_holder(shared):
    held = hold(shared)
    told = []

    def on_wait(pid):
        told.append(pid)
        release(held)

    with device_lock("cpu", on_wait, folder=shared):
        assert told == [held[0][0]]


def test_another_device_is_free(shared):
    held = hold(shared)
    with device_lock("cuda:0", pytest.fail, folder=shared):
        pass
    release(held)


def test_a_killed_holder_lets_go(shared):
    child, writer = hold(shared)
    os.kill(child[0], signal.SIGKILL)
    assert finish_child(child) == -signal.SIGKILL
    os.close(writer)
    with device_lock("cpu", pytest.fail, folder=shared):
        pass


def test_an_error_inside_lets_go(shared):
    with pytest.raises(KeyError), device_lock("cpu", folder=shared):
        raise KeyError
    with device_lock("cpu", pytest.fail, folder=shared):
        pass


def test_a_lock_file_removed_while_one_waits_does_not_let_two_in(shared):
    held = hold(shared)

    def on_wait(pid):
        lock_path("cpu", shared).unlink()
        second = hold(shared)  # takes a new file
        release(held)
        release(second)

    with device_lock("cpu", on_wait, folder=shared):
        assert int(lock_path("cpu", shared).read_text()) == os.getpid()


@needs_root
@pytest.mark.parametrize("umask", [0o022, 0o077])
def test_users_queue_for_one_device(shared, umask):
    def first():
        os.umask(umask)
        with device_lock("cpu", folder=shared):
            return lock_path("cpu", shared).stat().st_mode & 0o777

    assert in_child(first, uid=65534)["answer"] == 0o666
    held = hold(shared, uid=65533)
    told = []

    def on_wait(pid):
        told.append(pid)
        release(held)

    with device_lock("cpu", on_wait, folder=shared):
        assert told == [held[0][0]]


@pytest.mark.parametrize("kind", ["link", "folder", "fifo"])
def test_a_lock_file_that_is_no_file_is_refused(shared, tmp_path, kind):
    path = lock_path("cpu", shared)
    target = tmp_path / "target"
    if kind == "link":
        target.write_text("mine")
        path.symlink_to(target)
    elif kind == "folder":
        path.mkdir()
    else:
        os.mkfifo(path)
    with pytest.raises(EnvironmentFault) as fault, device_lock("cpu", folder=shared):
        pytest.fail("taken")
    assert fault.value.code == "E_DEVICE_LOCK"
    assert str(path) in fault.value.hint
    if kind == "link":
        assert target.read_text() == "mine"
    if kind == "folder":
        path.rmdir()


@needs_root
def test_a_lock_file_closed_to_this_user_is_refused(shared):
    path = lock_path("cpu", shared)
    path.write_text("")
    path.chmod(0o600)

    def take():
        with device_lock("cpu", folder=shared):
            return True

    assert in_child(take, uid=65534)["code"] == "E_DEVICE_LOCK"


def test_the_name_of_a_device_cannot_leave_the_folder(shared):
    assert lock_path("../../etc/passwd", shared).parent == shared
    assert lock_path("cpu").parent in (Path("/tmp"), Path("/var/tmp"), Path(tempfile.gettempdir()))
