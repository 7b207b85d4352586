"""Full disks, read-only folders, unreadable files, other users: a clear refusal, and the old file untouched."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from store_place import TAG, Place, an_experiment, finish_child, in_child, start_child

from mjolnir.errors import Refused

NOBODY, SOMEBODY = 65534, 65533
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: mounts a file system or becomes another user")


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 256 KiB."""
    folder = tmp_path / "small"
    folder.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", folder], capture_output=True).returncode:
        pytest.skip("this machine does not let root mount a tmpfs")
    yield folder
    subprocess.run(["umount", folder], check=True)


@pytest.fixture
def open_place():
    """A place that every user of the machine can reach, with a state folder for each."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    place = Place(folder / "repo", folder / "repo" / ".git")
    place.common_dir.mkdir(parents=True)
    (folder / "state").mkdir()
    (folder / "state").chmod(0o777)
    yield place
    shutil.rmtree(folder)


def fill_disk(folder):
    """Take every byte that is left; the file that holds them."""
    path = folder / "ballast"
    fd = os.open(path, os.O_WRONLY | os.O_CREAT)
    for size in (4096, 1):
        try:
            while True:
                os.write(fd, b"x" * size)
        except OSError:
            pass
    os.close(fd)
    return path


def require_refused_then_fine(place, make_room):
    before = place.ledger.read_bytes() if place.ledger.exists() else b""
    rows = place.open().rows()
    ledger = place.open()
    with pytest.raises(Refused) as refusal:
        ledger.append(an_experiment("y" * 20_000))
    assert refusal.value.code == "E_DISK_FULL"
    assert "untouched" in refusal.value.message
    assert (place.ledger.read_bytes() if place.ledger.exists() else b"") == before
    assert place.open().rows() == rows
    assert place.open().check().ok
    make_room()
    assert place.open().append(an_experiment("room again")).id == len(rows) + 1
    assert place.open().verify().ok
    assert place.mirror.read_bytes() == place.ledger.read_bytes()


@needs_root
@pytest.mark.parametrize("what", ["everything", "the work tree", "the git directory", "the state folder"])
def test_on_a_full_disk_the_row_is_refused_and_the_old_file_untouched(tmp_path, small_disk, monkeypatch, what):
    root = small_disk / "repo" if what in ("everything", "the work tree") else tmp_path / "repo"
    common_dir = small_disk / "git" if what in ("everything", "the git directory") else tmp_path / "git"
    if what in ("everything", "the state folder"):
        monkeypatch.setenv("XDG_STATE_HOME", str(small_disk / "state"))
    root.mkdir()
    common_dir.mkdir()
    place = Place(root, common_dir)
    place.fill(3)
    ballast = fill_disk(small_disk)
    require_refused_then_fine(place, ballast.unlink)


@needs_root
def test_a_disk_that_fills_while_rows_come_in_refuses_one_and_keeps_the_others(small_disk):
    place = Place(small_disk / "repo", small_disk / "git")
    place.root.mkdir()
    place.common_dir.mkdir()
    ledger = place.start()
    written = []

    def write_for_ever():
        while True:
            written.append(ledger.append(an_experiment("z" * 3000)))

    with pytest.raises(Refused) as refusal:
        write_for_ever()
    assert refusal.value.code == "E_DISK_FULL"
    assert len(written) > 10
    assert place.open().rows() == written
    assert place.open().verify().ok


def test_a_file_size_limit_is_a_full_disk(place):
    rows = place.fill(3)
    before = place.ledger.read_bytes()

    def append():
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 100, resource.RLIM_INFINITY))
        place.open().append(an_experiment("too long for it"))

    answer = in_child(append)
    assert answer["code"] == "E_DISK_FULL"
    assert place.ledger.read_bytes() == before
    assert place.mirror.read_bytes() == before
    assert place.open().rows() == rows
    assert place.open().verify().ok


@needs_root
def test_a_read_only_folder_can_be_read_and_not_written(open_place, monkeypatch):
    open_place.fill(2)
    monkeypatch.setenv("XDG_STATE_HOME", str(open_place.root.parent / "state"))

    def read():
        ledger = open_place.open()
        return [len(ledger.rows()), ledger.check().ok]

    def write():
        open_place.open().append(an_experiment("three"))

    assert in_child(read, uid=NOBODY)["answer"] == [2, True]
    answer = in_child(write, uid=NOBODY)
    assert answer["code"] == "E_READ_ONLY"
    assert "Permission denied" in answer["error"]
    assert open_place.open().verify().ok


@needs_root
def test_an_unreadable_ledger_is_refused_by_name(open_place, monkeypatch):
    open_place.fill(1)
    monkeypatch.setenv("XDG_STATE_HOME", str(open_place.root.parent / "state"))
    open_place.ledger.chmod(0o600)
    answer = in_child(lambda: open_place.open().count(), uid=NOBODY)
    assert answer["code"] == "E_LEDGER"
    assert "research/ledger.jsonl cannot be read: Permission denied" in answer["error"]


@needs_root
def test_two_users_of_a_shared_repository_append_by_turns_and_at_once(open_place, monkeypatch):
    for folder in (open_place.root, open_place.common_dir):
        folder.chmod(0o777)

    def write(uid, rows):
        os.environ["XDG_STATE_HOME"] = str(open_place.root.parent / "state" / str(uid))
        return [open_place.open().append(an_experiment(f"by {uid}")).id for _ in range(rows)]

    def start():
        os.environ["XDG_STATE_HOME"] = str(open_place.root.parent / "state" / str(NOBODY))
        open_place.start()

    assert in_child(start, uid=NOBODY) == {"answer": None}
    ids = []
    for _ in range(2):
        for uid in (NOBODY, SOMEBODY):
            ids += in_child(lambda uid=uid: write(uid, 2), uid=uid)["answer"]
    children = [start_child(lambda uid=uid: write(uid, 5), uid=uid) for uid in (NOBODY, SOMEBODY)]
    ids += [row_id for child in children for row_id in finish_child(child)["answer"]]
    assert sorted(ids) == list(range(1, 19))

    def is_whole(uid):
        os.environ["XDG_STATE_HOME"] = str(open_place.root.parent / "state" / str(uid))
        ledger = open_place.open()
        return [ledger.problem is None, ledger.verify().ok]

    for uid in (NOBODY, SOMEBODY):
        assert in_child(lambda uid=uid: is_whole(uid), uid=uid)["answer"] == [True, True]


@needs_root
def test_one_user_cannot_vouch_for_a_row_in_anothers_name(open_place):
    """The agent runs as NOBODY. It appends a well chained row and writes the file that would vouch for it."""
    for folder in (open_place.root, open_place.common_dir):
        folder.chmod(0o777)
    open_place.fill(2)

    def forge():
        os.environ["XDG_STATE_HOME"] = str(open_place.root.parent / "state" / str(NOBODY))
        shutil.rmtree(open_place.mirror.parent / "writers", ignore_errors=True)
        open_place.open().append(an_experiment("forged"))
        (mine,) = (open_place.mirror.parent / "writers").iterdir()
        mine.rename(mine.with_name("0.json"))

    in_child(forge, uid=NOBODY)
    problem = open_place.open().problem
    assert problem is not None
    assert f"{TAG}/ledger.jsonl" in problem.message or "research/ledger.jsonl:3" in problem.message
