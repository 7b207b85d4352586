"""What a crash, git clean or a move leaves is mended where nothing has to be guessed."""

from __future__ import annotations

import json
import os
import shutil

import pytest
from store_place import TAG, Place, an_experiment

from mjolnir.errors import Refused


def lines_of(path):
    return path.read_bytes().splitlines(keepends=True)


def test_a_torn_last_line_is_set_aside_and_its_row_restored_from_the_mirror(place):
    rows = place.fill(3)
    torn = lines_of(place.ledger)[2][:-20]
    os.truncate(place.ledger, place.ledger.stat().st_size - 20)
    ledger = place.open()
    assert ledger.rows() == rows
    (aside,) = place.torn_files()
    assert aside.read_bytes() == torn
    assert any("research/ledger.jsonl:3" in notice and aside.name in notice for notice in ledger.notices)
    assert place.open().notices == []


def test_a_torn_last_line_that_no_copy_has_is_set_aside_and_the_rest_goes_on(place):
    place.fill(2)
    with place.ledger.open("ab") as file:
        file.write(b'{"id":3,"ts":"2025')
    ledger = place.open()
    assert ledger.count() == 2
    assert place.torn_files()[0].read_bytes() == b'{"id":3,"ts":"2025'
    assert ledger.append(an_experiment("three")).id == 3


def test_two_torn_lines_in_one_second_are_both_kept(place):
    place.fill(1)
    for text in (b"{one", b"{two"):
        with place.ledger.open("ab") as file:
            file.write(text)
        place.open()
    assert sorted(path.read_bytes() for path in place.torn_files()) == [b"{one", b"{two"]


def test_a_last_line_that_lacks_only_its_newline_is_a_row(place):
    rows = place.fill(2)
    os.truncate(place.ledger, place.ledger.stat().st_size - 1)
    assert place.open().rows() == rows
    assert place.torn_files() == []


@pytest.mark.parametrize("left", [0, 1, 2])
def test_a_missing_or_shorter_ledger_is_restored_from_the_mirror(place, left):
    rows = place.fill(3)
    if left:
        place.ledger.write_bytes(b"".join(lines_of(place.ledger)[:left]))
    else:
        shutil.rmtree(place.root / "research")
    ledger = place.open()
    assert ledger.rows() == rows
    assert any("restored" in notice for notice in ledger.notices)
    assert place.open().notices == []
    assert place.view.read_text().count("\n") == 4


def test_a_missing_mirror_is_written_anew(place):
    rows = place.fill(2)
    shutil.rmtree(place.mirror.parent)
    ledger = place.open()
    assert any("mirror" in notice for notice in ledger.notices)
    assert ledger.append(an_experiment("three")).id == 3
    place.ledger.unlink()
    assert place.open().rows()[:2] == rows


def test_ledger_and_mirror_both_removed_show(place):
    place.fill(3)
    place.ledger.unlink()
    place.mirror.unlink()
    ledger = place.open()
    assert not ledger.check().ok
    with pytest.raises(Refused, match="3 were recorded"):
        ledger.append(an_experiment("again"))


def test_a_bad_ledger_moved_away_comes_back_whole(place):
    rows = place.fill(3)
    place.ledger.write_bytes(b"garbage\n" * 3)
    with pytest.raises(Refused, match=r"research/ledger\.jsonl:1 "):
        place.open()
    place.ledger.rename(place.ledger.with_suffix(".damaged"))
    assert place.open().rows() == rows
    assert place.open().verify().ok


def test_a_moved_repository_goes_on_with_a_notice_and_is_anchored_again(place, tmp_path):
    rows = place.fill(2)
    moved = Place(tmp_path / "moved", tmp_path / "moved" / ".git")
    shutil.move(place.root, moved.root)
    ledger = moved.open()
    assert ledger.rows() == rows
    assert any("no anchor" in notice for notice in ledger.notices)
    ledger.append(an_experiment("three"))
    assert moved.open().notices == []
    assert json.loads(moved.anchor.read_text())["rows"] == 3


def test_two_work_trees_share_one_ledger(place, tmp_path):
    other = Place(tmp_path / "second work tree", place.common_dir)
    other.root.mkdir()
    place.fill(2)
    assert [row.id for row in other.open().rows()] == [1, 2]
    assert other.open().append(an_experiment("three")).id == 3
    assert place.open().append(an_experiment("four")).id == 4
    assert [row.id for row in other.open().rows()] == [1, 2, 3, 4]
    assert other.open().verify().ok
    assert place.open().verify().ok


def test_the_same_tag_in_another_repository_is_another_ledger(place, tmp_path):
    place.fill(2)
    other = Place(tmp_path / "other", tmp_path / "other" / ".git")
    other.common_dir.mkdir(parents=True)
    assert other.start().append(an_experiment("one")).run == TAG
    assert other.open().count() == 1
    assert place.open().check().ok


def test_no_git_command_that_cleans_a_work_tree_loses_a_row(repo):
    place = Place(repo.root, repo.git.common_dir)
    rows = place.fill(3)
    repo.run("reset", "-q", "--hard")
    assert place.open().rows() == rows
    repo.run("stash", "-q", "-u")
    assert not place.ledger.exists()
    assert place.open().rows() == rows
    repo.run("clean", "-fdxq")
    assert not place.ledger.exists()
    assert place.open().rows() == rows
    assert place.open().verify().ok
