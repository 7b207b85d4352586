from __future__ import annotations

import json
import os

import pytest
from store_place import die_at, finish_child, in_child, start_child

from mjolnir.store.inflight import begin_inflight, clear_inflight, enter_stage, read_inflight

STARTED = "2025-10-11T22:00:00+00:00"


def begin(root, hypothesis="tiles"):
    return begin_inflight(
        root, commit="f" * 40, hypothesis=hypothesis, stage="correctness", started=STARTED, log="research/logs/x.log"
    )


def test_an_evaluation_in_progress_says_what_it_does(tmp_path):
    assert read_inflight(tmp_path) is None
    written = begin(tmp_path)
    assert read_inflight(tmp_path) == written
    assert written.is_alive()
    assert written.pid == os.getpid()
    later = enter_stage(tmp_path, written, "sweep")
    assert read_inflight(tmp_path) == later
    assert later.stage == "sweep"
    clear_inflight(tmp_path)
    assert read_inflight(tmp_path) is None
    clear_inflight(tmp_path)


@pytest.mark.parametrize("text", ["", "a\nb\tc", "\x1b[31m[/=]\x00", "löß 漢字", "\udcff", "x" * 2**20])
def test_a_hypothesis_of_any_kind_is_held(tmp_path, text):
    begin(tmp_path, text)
    assert read_inflight(tmp_path).hypothesis == text


def test_one_left_by_a_killed_process_is_not_alive_and_keeps_its_log(tmp_path):
    def evaluate():
        begin(tmp_path)
        die_at(1)
        os.write(1, b"")

    assert in_child(evaluate) == -9
    left = read_inflight(tmp_path)
    assert not left.is_alive()
    assert (left.stage, left.log) == ("correctness", "research/logs/x.log")
    clear_inflight(tmp_path)
    assert read_inflight(tmp_path) is None


def test_a_pid_that_was_used_again_is_not_mistaken(tmp_path):
    begin(tmp_path)
    path = tmp_path / "research" / ".inflight.json"
    values = json.loads(path.read_text())
    path.write_text(json.dumps(values | {"process": "an earlier boot " + values["process"]}))
    assert not read_inflight(tmp_path).is_alive()


def test_another_process_that_runs_keeps_its_file(tmp_path):
    reader, writer = os.pipe()
    ready, say_ready = os.pipe()

    def evaluate():
        begin(tmp_path)
        os.write(say_ready, b"x")
        os.read(reader, 1)

    child = start_child(evaluate)
    os.read(ready, 1)
    clear_inflight(tmp_path)
    assert read_inflight(tmp_path).is_alive()
    os.write(writer, b"x")
    finish_child(child)
    assert not read_inflight(tmp_path).is_alive()
    clear_inflight(tmp_path)
    assert read_inflight(tmp_path) is None
    for fd in (reader, writer, ready, say_ready):
        os.close(fd)


@pytest.mark.parametrize("text", ["", "{", "{}", '{"pid":"x"}'])
def test_a_damaged_file_is_nothing(tmp_path, text):
    begin(tmp_path)
    (tmp_path / "research" / ".inflight.json").write_text(text)
    assert read_inflight(tmp_path) is None
    clear_inflight(tmp_path)
    assert not (tmp_path / "research" / ".inflight.json").exists()
