"""Torn, truncated, removed, edited, forged, moved: mended where nothing is guessed, else refused with file and line."""

from __future__ import annotations

import json
import os
import shutil

import pytest
from store_place import TAG, Place, an_experiment

from mjolnir.errors import Refused
from mjolnir.store.codec import row_hash


def lines_of(path):
    return path.read_bytes().splitlines(keepends=True)


def edit(line, **values):
    """The row with other values and a hash that fits them."""
    row = json.loads(line) | values
    row["hash"] = row_hash({k: v for k, v in row.items() if k != "hash"})
    return json.dumps(row, separators=(",", ":")).encode() + b"\n"


def require_refused(place, *words):
    """`append` is refused, the rows that are left can still be read, and the files are as they were."""
    before = place.ledger.read_bytes()
    ledger = place.open()
    with pytest.raises(Refused) as refusal:
        ledger.append(an_experiment("one more"))
    assert refusal.value.code == "E_LEDGER"
    assert refusal.value.hint
    for word in words:
        assert word in refusal.value.message
    assert not ledger.check().ok
    assert not ledger.verify().ok
    assert place.ledger.read_bytes() == before


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


def test_rows_cut_off_from_ledger_and_mirror_show(place):
    place.fill(3)
    for path in (place.ledger, place.mirror):
        path.write_bytes(b"".join(lines_of(path)[:2]))
    require_refused(place, "2 rows", "3 were recorded")
    assert len(place.open().rows()) == 2


def test_ledger_and_mirror_both_removed_show(place):
    place.fill(3)
    place.ledger.unlink()
    place.mirror.unlink()
    ledger = place.open()
    assert not ledger.check().ok
    with pytest.raises(Refused, match="3 were recorded"):
        ledger.append(an_experiment("again"))


def test_a_row_removed_from_the_middle_shows_with_its_line(place):
    place.fill(4)
    lines = lines_of(place.ledger)
    place.ledger.write_bytes(b"".join(lines[:1] + lines[2:]))
    require_refused(place, "research/ledger.jsonl:2")


def test_reordered_rows_show(place):
    place.fill(4)
    lines = lines_of(place.ledger)
    for path in (place.ledger, place.mirror):
        path.write_bytes(b"".join([lines[0], lines[2], lines[1], lines[3]]))
    assert not place.open().verify().ok


def test_a_doubled_id_shows(place):
    place.fill(3)
    lines = lines_of(place.ledger)
    for path in (place.ledger, place.mirror):
        path.write_bytes(lines[0] + edit(lines[1], id=1) + lines[2])
    assert "id 1 after id 1" in place.open().verify().problem.message


def test_an_edited_row_shows_with_its_line(place):
    place.fill(4)
    text = place.ledger.read_bytes().replace(b'"score":1.234567', b'"score":9.234567', 2)
    place.ledger.write_bytes(text)
    state = place.open().verify()
    assert not state.ok
    assert "research/ledger.jsonl:1" in state.problem.message
    assert "mv " in state.problem.hint


def test_a_row_edited_together_with_its_hash_shows(place):
    place.fill(4)
    for path in (place.ledger, place.mirror):
        lines = lines_of(path)
        path.write_bytes(b"".join([lines[0], edit(lines[1], score=9.234567), *lines[2:]]))
    state = place.open().verify()
    assert not state.ok
    assert "research/ledger.jsonl:3" in state.problem.message


def test_a_last_row_edited_together_with_its_hash_shows_at_once(place):
    place.fill(3)
    for path in (place.ledger, place.mirror):
        lines = lines_of(path)
        path.write_bytes(b"".join([*lines[:2], edit(lines[2], score=9.234567)]))
    require_refused(place)


@pytest.mark.parametrize("where", ["ledger", "mirror", "both"])
def test_a_forged_row_is_not_believed_however_well_it_is_chained(place, where):
    rows = place.fill(2)
    last = lines_of(place.ledger)[-1]
    forged = edit(last, id=3, status="keep", score=99.0, prev=rows[-1].hash)
    for name in ("ledger", "mirror"):
        if where in (name, "both"):
            with getattr(place, name).open("ab") as file:
                file.write(forged)
    require_refused(place, ":3", "known to have written")


@pytest.mark.parametrize(
    "garbage", [b"not json\n", b"[1,2]\n", b'{"id":2}\n', b"\x00\x00\x00\n", b"\xff\xfe\n", b"[" * 9999 + b"\n"]
)
def test_any_other_damaged_line_stops_reading_with_file_and_line(place, garbage):
    place.fill(3)
    lines = lines_of(place.ledger)
    place.ledger.write_bytes(lines[0] + garbage + lines[2])
    ledger = place.open()
    for read in (ledger.rows, ledger.glances, ledger.raw_rows if garbage != b'{"id":2}\n' else ledger.rows):
        with pytest.raises(Refused, match=r"research/ledger\.jsonl:2 ") as refusal:
            read()
        assert refusal.value.code == "E_LEDGER"
        assert refusal.value.message.isprintable()
    assert ledger.tail(1)[0].id == 3, "what is not shown is not parsed"


def test_a_damaged_last_line_is_named_by_tail(place):
    place.fill(2)
    with place.ledger.open("ab") as file:
        file.write(b"garbage\n")
    with pytest.raises(Refused, match=r"research/ledger\.jsonl:3 "):
        place.open().tail(1)


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


def test_a_damaged_anchor_is_refused_with_the_command_that_mends_it(place):
    place.fill(1)
    place.anchor.write_text("{")
    require_refused(place, str(place.anchor))
    place.anchor.rename(place.anchor.with_suffix(".aside"))
    assert place.open().append(an_experiment("two")).id == 2


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
