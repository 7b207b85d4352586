"""Earlier experiments with an idea like this one, of this run and of exported ones."""

from __future__ import annotations

import json

import pytest

from mjolnir.loop.memory import MAX_FOUND, memory_lines, similar_experiments

HOSTILE = "page [bold]tiles \x1b[31mred\x1b[0m \x00 of\nthe \u202eheads"


@pytest.fixture
def root(tmp_path):
    return tmp_path


def write_ledger(path, *rows):
    """Rows of few keys, as a ledger has them, one a minute."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [
        json.dumps({"id": n, "ts": f"2026-03-01T00:{n:02}:00+00:00", "status": "discard", "schema": "x"} | row)
        for n, row in enumerate(rows, 1)
    ]
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def live(root, *rows):
    return write_ledger(root / "research/ledger.jsonl", *rows)


def exported(root, tag, *rows):
    return write_ledger(root / "research/runs" / tag / "ledger.jsonl", *rows)


def search(root, text, tag="oct11"):
    notices = []
    found = similar_experiments(root, tag, text, notices.append)
    return memory_lines(found), notices


def test_an_idea_like_this_one_is_told_with_its_verdict(root):
    live(
        root,
        {"hypothesis": "Page tiles, shared by the heads", "rule": "gain_too_small", "vs_best": {"128": 1.004}},
        {"hypothesis": "softmax in base 2"},
    )
    lines, notices = search(root, "share page tiles by heads")
    assert lines == ["earlier: #1 discard (gain_too_small, +0.4 %): 'Page tiles, shared by the heads'"]
    assert notices == []


def test_an_exported_run_is_searched_too_and_named(root):
    live(root, {"hypothesis": "something else"})
    exported(root, "oct03", {"hypothesis": "page tiles", "status": "keep", "rule": "gain", "confirm": {"m": 0.0953}})
    assert search(root, "page tiles")[0] == ["earlier: oct03 #1 keep (gain, +10.0 %): 'page tiles'"]


def test_this_runs_own_export_is_not_told_twice(root):
    live(root, {"hypothesis": "page tiles"})
    exported(root, "oct11", {"hypothesis": "page tiles"})
    assert search(root, "page tiles")[0] == ["earlier: #1 discard: 'page tiles'"]


def test_the_newest_come_first_and_at_most_five(root):
    live(root, *[{"hypothesis": "page tiles"}] * 4)
    exported(root, "oct03", *[{"hypothesis": "page tiles", "ts": f"2026-04-01T00:0{n}:00+00:00"} for n in range(4)])
    lines, _ = search(root, "page tiles")
    assert [line.split(" discard")[0] for line in lines] == [
        "earlier: oct03 #4",
        "earlier: oct03 #3",
        "earlier: oct03 #2",
        "earlier: oct03 #1",
        "earlier: #4",
    ]
    assert len(lines) == MAX_FOUND


def test_where_more_are_close_the_closest_are_told(root):
    live(root, {"hypothesis": "page tiles"}, *[{"hypothesis": "page tiles again and again"}] * 8)
    assert "earlier: #1 discard: 'page tiles'" in search(root, "page tiles")[0]


def test_a_damaged_export_is_passed_over_with_a_word_and_the_others_are_read(root):
    live(root, {"hypothesis": "page tiles"})
    exported(root, "oct01", {"hypothesis": "page tiles"}).write_text('{"id": 1, "status"\n')
    exported(root, "oct02", {"hypothesis": "page tiles"})
    (root / "research/runs/oct03/ledger.jsonl").mkdir(parents=True)
    lines, notices = search(root, "page tiles")
    assert {line.split(" discard")[0] for line in lines} == {"earlier: #1", "earlier: oct02 #1"}
    assert len(notices) == 2
    assert "research/runs/oct01/ledger.jsonl" in notices[0]
    assert "not a regular file" in notices[1]


def test_a_link_to_somewhere_else_is_not_followed(root, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    write_ledger(elsewhere / "ledger.jsonl", {"hypothesis": "page tiles"})
    (root / "research/runs").mkdir(parents=True)
    (root / "research/runs/linked").symlink_to(elsewhere)
    (root / "research/runs/file").mkdir()
    (root / "research/runs/file/ledger.jsonl").symlink_to(elsewhere / "ledger.jsonl")
    lines, notices = search(root, "page tiles")
    assert lines == []
    assert "symbolic link" in notices[0]


def test_foreign_text_is_one_clean_line(root):
    live(root, {"hypothesis": HOSTILE, "rule": HOSTILE})
    exported(root, "x[red]", {"hypothesis": HOSTILE})
    lines, _ = search(root, HOSTILE)
    assert len(lines) == 2
    for line in lines:
        assert line.isprintable()
        assert "[bold]tiles red of the heads" in line


def test_without_rows_or_words_there_is_nothing_to_tell(root):
    assert search(root, "page tiles") == ([], [])
    live(root, {"hypothesis": ""}, {"hypothesis": None}, {})
    assert search(root, "page tiles") == ([], [])
    assert search(root, "...") == ([], [])


def test_a_ledger_of_mjolnir_cli_0_2_0_is_searched(root):
    live(root, {"hypothesis": "page tiles", "schema": None, "agent": None, "score": 1.0, "per_L": None, "rule": None})
    assert search(root, "page tiles")[0] == ["earlier: #1 discard: 'page tiles'"]


def test_texts_of_a_megabyte_are_told_by_their_beginning(root):
    live(root, {"hypothesis": "page tiles " * 100_000})
    (line,) = search(root, "page tiles " * 90_000)[0]
    assert len(line) < 160


@pytest.mark.parametrize("gain", ["9" * 400, "1e400", "-1e308", "true", '"much"', "[1]"])
def test_a_number_that_is_none_in_an_exported_row_ends_nothing(root, gain):
    live(root, {"hypothesis": "something else"})
    path = exported(root, "oct03", {"hypothesis": "page tiles", "screen": {"gain": 0.5}})
    path.write_text(path.read_text().replace("0.5", gain))
    lines, notices = search(root, "page tiles")
    assert len(lines) + len(notices) == 1
