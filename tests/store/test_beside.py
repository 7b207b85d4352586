"""Facts beside the ledger: whole or not there, whatever happens in the middle of a write."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import tempfile
from pathlib import Path

import pytest
from store_place import TAG, Place, die_at, finish_child, in_child, start_child

from mjolnir.errors import Refused
from mjolnir.store.beside import append_fact, read_facts

NAME = "calibrations"
NOBODY = 65534
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: becomes another user")


@pytest.fixture
def run(place):
    """A place with a run in it."""
    place.start()
    return place


def file_of(place):
    return place.common_dir / "mjolnir" / TAG / f"{NAME}.jsonl"


def append(place, **fact):
    append_fact(place.common_dir, TAG, NAME, fact)


def read(place):
    """(facts, what was told)."""
    notices = []
    return read_facts(place.common_dir, TAG, NAME, notices.append), notices


def test_facts_come_back_in_the_order_in_which_they_were_written(run):
    assert read(run) == ([], [])
    append(run, id=1, name="é \n\u2028")
    append(run, id=2, deep={"L": [1.5, None]})
    assert read(run) == ([{"id": 1, "name": "é \n\u2028"}, {"id": 2, "deep": {"L": [1.5, None]}}], [])
    assert len(file_of(run).read_bytes().splitlines()) == 2


def test_each_kind_has_a_file_of_its_own(run):
    append(run, id=1)
    append_fact(run.common_dir, TAG, "rechecks", {"id": 2})
    assert read(run)[0] == [{"id": 1}]


def test_a_fact_is_no_row_of_the_ledger(run):
    append(run, id=1)
    assert run.open().rows() == []
    assert run.open().verify().ok


@pytest.mark.parametrize("torn", [b'{"id": 3, "ro', b'{"id": 3}', b"\xff\xfe"])
def test_a_torn_last_line_is_told_and_left_out_and_the_next_fact_takes_its_place(run, torn):
    append(run, id=1)
    with file_of(run).open("ab") as file:
        file.write(torn)
    facts, notices = read(run)
    assert facts == [{"id": 1}]
    assert len(notices) == 1
    assert "torn" in notices[0]
    append(run, id=4)
    assert read(run) == ([{"id": 1}, {"id": 4}], [])


def test_a_file_that_holds_a_torn_line_alone_is_empty(run):
    file_of(run).write_bytes(b'{"id"')
    assert read(run)[0] == []
    append(run, id=1)
    assert read(run) == ([{"id": 1}], [])


@pytest.mark.parametrize("line", [b"[1]", b"nothing", b"\xff", b"[" * 100_000])
def test_a_whole_line_that_is_no_object_is_refused_with_its_number(run, line):
    append(run, id=1)
    with file_of(run).open("ab") as file:
        file.write(line + b"\n")
    with pytest.raises(Refused, match="line 2") as refusal:
        read(run)
    assert refusal.value.code == "E_LEDGER"


@pytest.mark.parametrize("halfway", [False, True])
@pytest.mark.parametrize("step", range(1, 6))
def test_a_killed_append_leaves_the_old_facts_and_at_most_one_more(run, step, halfway):
    append(run, id=1)

    def killed():
        die_at(step, halfway=halfway)
        append(run, id=2, text="x" * 5000)

    ended = in_child(killed)
    facts, _ = read(run)
    assert [fact["id"] for fact in facts] in ([1], [1, 2])
    if ended != -signal.SIGKILL:
        assert facts[-1]["id"] == 2
    append(run, id=3)
    assert [fact["id"] for fact in read(run)[0]] in ([1, 3], [1, 2, 3])
    assert read(run)[1] == []


def test_a_full_disk_is_refused_and_the_file_is_as_it_was(run):
    append(run, id=1)
    before = file_of(run).read_bytes()

    def append_much():
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 100, resource.RLIM_INFINITY))
        append(run, text="x" * 5000)

    answer = in_child(append_much)
    assert answer["code"] == "E_DISK_FULL"
    assert file_of(run).read_bytes() == before


@needs_root
def test_a_file_that_may_not_be_written_is_refused_and_can_still_be_read():
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    try:
        place = Place(folder / "repo", folder / "repo" / ".git")
        place.common_dir.mkdir(parents=True)
        place.start()
        append(place, id=1)
        assert in_child(lambda: read(place)[0], uid=NOBODY)["answer"] == [{"id": 1}]
        assert in_child(lambda: append(place, id=2), uid=NOBODY)["code"] == "E_READ_ONLY"
        assert read(place) == ([{"id": 1}], [])
    finally:
        shutil.rmtree(folder)


def test_a_link_in_the_place_of_the_file_is_refused(run, tmp_path):
    (tmp_path / "elsewhere").write_text("precious\n")
    file_of(run).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(Refused, match="symbolic link"):
        append(run, id=1)
    with pytest.raises(Refused, match="symbolic link"):
        read(run)
    assert (tmp_path / "elsewhere").read_text() == "precious\n"


def test_two_writers_at_once_lose_nothing(run):
    def many(writer):
        def work():
            for n in range(50):
                append(run, writer=writer, n=n, text="x" * 3000)

        return work

    children = [start_child(many(writer)) for writer in range(3)]
    assert [finish_child(child) for child in children] == [{"answer": None}] * 3
    facts, notices = read(run)
    assert notices == []
    assert sorted((f["writer"], f["n"]) for f in facts) == [(w, n) for w in range(3) for n in range(50)]


def test_a_run_that_there_is_not_is_refused_and_gets_no_folder(place):
    with pytest.raises(Refused) as refusal:
        append(place, id=1)
    assert refusal.value.code == "E_RUN"
    assert not (place.common_dir / "mjolnir").exists()
    assert read(place) == ([], [])


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_number_that_json_lacks_is_an_error_and_nothing_is_written(run, value):
    with pytest.raises(ValueError, match="JSON"):
        append(run, value=value)
    assert not file_of(run).exists()


@pytest.mark.parametrize("name", ["", "../ledger", "Ledger", "a.b"])
def test_a_name_that_is_no_kind_of_facts_is_an_error(run, name):
    with pytest.raises(ValueError, match="name"):
        append_fact(run.common_dir, TAG, name, {})


def test_a_fact_is_one_line_of_ascii_json(run):
    append(run, text="é\u2028")
    line = file_of(run).read_bytes()
    assert line.isascii()
    assert line.endswith(b"\n")
    assert json.loads(line) == {"text": "é\u2028"}
