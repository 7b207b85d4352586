"""The corpus says what it is: every file has its answer in one form, every kind has files, every reachable code too."""

import json

import pytest

from corpus.entry import FOLDER, KINDS, MEASURED, cheats, read_entry, read_folder, split_answer

REACHABLE = {"E_STATE", "E_UNWRITTEN", "E_PROFILED", "E_MUTATES", "E_CONTRACT"}
"""E_LEFTOVER needs a machine without the syscall filter (tests/targets); E_NUMBERS a broken clock (tests/commands)."""
ENTRIES = read_folder(FOLDER)


def test_every_kind_has_files_and_most_have_several():
    count = {kind: sum(e.kind == kind for e in ENTRIES) for kind in KINDS}
    assert min(count.values()) >= 1
    assert sorted(kind for kind, files in count.items() if files < 2) == ["statistics"]


def test_there_are_enough_of_them():
    assert len(cheats(ENTRIES)) >= 80
    assert sum(e.is_control for e in ENTRIES) >= 6


def test_every_code_that_a_kernel_can_earn_here_is_the_answer_of_some_file():
    assert {*REACHABLE, "E_IMPORT", "E_SAME_PROGRAM"} == {
        word for e in ENTRIES for word in e.words if word.startswith("E_")
    }


def test_a_neutralised_cheat_names_the_honest_file_that_it_is_measured_against():
    assert [e.name for e in ENTRIES if "neutralised" in e.answers and e.no_gain_over is None] == []


def test_controls_are_right_when_measured_and_only_they():
    assert {e.name for e in ENTRIES if MEASURED in e.answers} == {e.name for e in ENTRIES if e.is_control}


@pytest.mark.parametrize(
    ("answer", "parts"),
    [
        ("discard", (("discard",), ())),
        ("keep or discard", (("keep", "discard"), ())),
        ("invalid or crash E_STATE", (("invalid", "crash"), ("E_STATE",))),
        ("crash import no function", (("crash",), ("import", "no", "function"))),
    ],
)
def test_an_answer_is_statuses_and_then_words(answer, parts):
    assert split_answer(answer) == parts


@pytest.mark.parametrize("text", ["x = 1\n", "# answer: fine\n# kind: fault\n", "# answer: discard\n# kind: odd\n"])
def test_a_file_without_a_readable_answer_is_named(tmp_path, text):
    (tmp_path / "some-kernel.py").write_text(text)
    with pytest.raises((ValueError, KeyError)):
        read_folder(tmp_path)


def test_a_manifest_says_the_answers_of_a_folder(tmp_path):
    for name in ("41-honest.py", "01-lazy.py"):
        (tmp_path / name).write_text("")
    rows = [
        {"file": "41-honest.py", "kind": "control", "class": "control", "answer": ["keep-or-discard"]},
        {"file": "01-lazy.py", "kind": "attack", "class": "state", "answer": ["neutralised"], "parent": "41-honest"},
    ]
    (tmp_path / "MANIFEST.json").write_text(json.dumps({"candidates": rows}))
    honest, lazy = read_folder(tmp_path)
    assert (honest.answers, honest.is_control) == ((MEASURED,), True)
    assert (lazy.no_gain_over, lazy.measured_before, lazy.kind) == (honest.path, honest.path, "state")


def test_without_a_manifest_a_meta_in_the_file_says_it(tmp_path):
    path = tmp_path / "09-odd.py"
    path.write_text('"""odd."""\nMETA = {"kind": "attack", "class": "numeric", "answer": ["discard"]}\n')
    assert read_entry(path, tmp_path).answers == ("discard",)
