from __future__ import annotations

import json
import math
import os
import resource
from datetime import UTC, datetime

import pytest
from store_place import finish_child, in_child, start_child

from mjolnir.errors import Refused
from mjolnir.store import runs
from mjolnir.store.runs import find_document, list_documents, newest_document, read_document, write_document


class Clock(datetime):
    """A clock that says what a test wants."""

    at = datetime(2025, 10, 11, 22, 0, 0, tzinfo=UTC)

    @classmethod
    def now(cls, tz=None):
        return cls.at


@pytest.fixture
def clock(monkeypatch):
    monkeypatch.setattr(runs, "datetime", Clock)
    monkeypatch.setattr(Clock, "at", datetime(2025, 10, 11, 22, 0, 0, tzinfo=UTC))
    return Clock


def test_a_document_comes_back_with_its_name_on_it(tmp_path):
    run_id = write_document(tmp_path, "sweep", {"summary": {"score": 1.25}, "series": [{"id": "löß"}]})
    (ref,) = list_documents(tmp_path)
    assert (ref.stage, ref.run_id) == ("sweep", run_id)
    assert ref.path == tmp_path / "research" / "verify" / "sweep" / f"{run_id}.json"
    document = read_document(ref)
    assert document["summary"] == {"score": 1.25}
    assert document["series"] == [{"id": "löß"}]
    assert (document["schema"], document["stage"], document["run_id"]) == ("mjolnir.verify/1", "sweep", run_id)
    assert datetime.fromisoformat(document["ts"]).tzinfo is not None


def test_documents_of_one_second_and_of_a_clock_that_went_back_keep_their_order(tmp_path, clock):
    ids = [write_document(tmp_path, "sweep", {"n": n}) for n in range(3)]
    clock.at = datetime(2025, 10, 11, 21, 0, 0, tzinfo=UTC)
    ids += [write_document(tmp_path, "sweep", {"n": n}) for n in range(3, 5)]
    clock.at = datetime(2025, 10, 11, 23, 0, 0, tzinfo=UTC)
    ids.append(write_document(tmp_path, "sweep", {"n": 5}))
    assert len(set(ids)) == 6
    assert ids == sorted(ids)
    assert [read_document(ref)["n"] for ref in list_documents(tmp_path, "sweep")] == list(range(6))
    assert read_document(newest_document(tmp_path))["n"] == 5


def test_processes_that_write_at_once_overwrite_nothing(tmp_path):
    children = [
        start_child(lambda n=n: [write_document(tmp_path, "sweep", {"by": n}) for _ in range(5)]) for n in range(4)
    ]
    ids = [run_id for child in children for run_id in finish_child(child)["answer"]]
    assert len(set(ids)) == 20
    assert sorted(ids) == [ref.run_id for ref in list_documents(tmp_path)]


def test_stages_are_listed_apart_and_together(tmp_path, clock):
    first = write_document(tmp_path, "correctness", {})
    clock.at = datetime(2025, 10, 11, 22, 0, 1, tzinfo=UTC)
    second = write_document(tmp_path, "sweep", {})
    assert [ref.run_id for ref in list_documents(tmp_path)] == [first, second]
    assert newest_document(tmp_path, "correctness").run_id == first
    assert newest_document(tmp_path).run_id == second
    assert newest_document(tmp_path, "static") is None
    assert find_document(tmp_path, "sweep", second).run_id == second
    assert find_document(tmp_path, "sweep", "nothing") is None
    assert list_documents(tmp_path, "../..") == ()


def test_numbers_that_json_has_not_become_null(tmp_path):
    write_document(tmp_path, "sweep", {"error": math.nan, "points": [{"us": math.inf}, {"us": 1.5}]})
    text = newest_document(tmp_path).path.read_text()
    assert json.loads(text, parse_constant=pytest.fail)["points"] == [{"us": None}, {"us": 1.5}]


def test_other_files_in_the_folder_are_no_documents(tmp_path):
    write_document(tmp_path, "sweep", {})
    folder = tmp_path / "research" / "verify" / "sweep"
    (folder / "notes.json").write_text("{}")
    (folder / "99999999T999999-999999.json.tmp").write_text("{}")
    assert len(list_documents(tmp_path)) == 1


@pytest.mark.parametrize("text", ["", "{", "[]", "\xff", "[" * 100_000])
def test_a_damaged_document_is_refused_by_name(tmp_path, text):
    write_document(tmp_path, "sweep", {})
    ref = newest_document(tmp_path)
    ref.path.write_text(text, encoding="latin-1")
    with pytest.raises(Refused, match=ref.run_id) as refusal:
        read_document(ref)
    assert refusal.value.code == "E_DOCUMENT"


def test_a_full_disk_leaves_no_half_document(tmp_path):
    def write():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))
        write_document(tmp_path, "sweep", {"text": "x" * 5000})

    assert in_child(write)["code"] == "E_DISK_FULL"
    assert os.listdir(tmp_path / "research" / "verify" / "sweep") == []
