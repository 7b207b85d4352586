"""`audit --repair`: unreadable lines are moved aside, bytes kept; nothing that can be read is ever touched."""

from __future__ import annotations

import errno
import json
import os

import pytest

from mjolnir.errors import Refused
from mjolnir.store.codec import row_hash
from mjolnir.store.ledger_files import ledger_files
from mjolnir.store.repair import repair_ledger


@pytest.fixture
def filled(place):
    place.fill(5)
    return place


def repair(place):
    """(how many lines were damaged, what was said)."""
    said = []
    files = ledger_files(place.root, place.common_dir, "oct11")
    return repair_ledger(files, said.append), said


def aside(place):
    return sorted((place.root / "research").glob("ledger.damaged-*"))


def lines_of(path):
    return path.read_bytes().splitlines(keepends=True)


def damage(path, place, line):
    lines = lines_of(path)
    lines[place] = line
    path.write_bytes(b"".join(lines))


GARBAGE = {
    "no JSON": b"{not JSON\n",
    "bytes of no text": b"\xff\xfe\x00\n",
    "another JSON value": b"[1, 2]\n",
    "no row": b'{"a":1}\n',
    "a status that is none": b'{"id":3,"ts":"x","status":"best"}\n',
    "a key twice": b'{"id":3,"id":3,"ts":"x","status":"keep"}\n',
}


@pytest.mark.parametrize("place_of_line", [0, 2, 4])
@pytest.mark.parametrize("name", GARBAGE)
def test_a_damaged_line_is_moved_aside_and_its_copy_takes_its_place(filled, name, place_of_line):
    before = filled.ledger.read_bytes()
    damage(filled.ledger, place_of_line, GARBAGE[name])
    count, (said,) = repair(filled)
    assert count == 1
    assert filled.ledger.read_bytes() == before
    (kept,) = aside(filled)
    assert kept.read_bytes() == GARBAGE[name]
    assert said == (
        f"research/ledger.jsonl: damaged line {place_of_line + 1} moved aside to research/{kept.name}; "
        "1 restored from the other copy"
    )
    assert filled.open().verify().ok


def test_a_damaged_mirror_is_mended_from_the_ledger(filled):
    before = filled.mirror.read_bytes()
    damage(filled.mirror, 1, b"garbage\n")
    assert repair(filled)[0] == 1
    assert filled.mirror.read_bytes() == before
    assert [path.read_bytes() for path in aside(filled)] == [b"garbage\n"]


def test_a_line_that_is_damaged_in_both_copies_leaves_a_gap_that_stays_a_finding(filled):
    for path in (filled.ledger, filled.mirror):
        damage(path, 2, b"garbage\n")
    count, said = repair(filled)
    assert count == 2
    assert all("the other copy has nothing for it" in text for text in said)
    assert [json.loads(line)["id"] for line in lines_of(filled.ledger)] == [1, 2, 4, 5]
    assert not filled.open().verify().ok


def test_a_garbage_line_between_sound_ones_only_goes(filled):
    before = filled.ledger.read_bytes()
    lines = lines_of(filled.ledger)
    filled.ledger.write_bytes(b"".join([*lines[:2], b"x\n", *lines[2:]]))
    assert repair(filled)[0] == 1
    assert filled.ledger.read_bytes() == before


def test_a_torn_last_line_comes_back_whole_from_the_mirror(filled):
    before = filled.ledger.read_bytes()
    filled.ledger.write_bytes(before[:-40])
    assert repair(filled)[0] == 1
    assert filled.ledger.read_bytes() == before


def test_a_last_line_that_lacks_only_its_newline_gets_it(filled):
    before = filled.ledger.read_bytes()
    filled.ledger.write_bytes(before[:-1])
    count, (said,) = repair(filled)
    assert (count, filled.ledger.read_bytes(), aside(filled)) == (1, before, [])
    assert "no newline" in said


def test_a_second_repair_finds_nothing(filled):
    damage(filled.ledger, 2, b"garbage\n")
    repair(filled)
    assert repair(filled) == (0, [])
    assert len(aside(filled)) == 1


def edited(lines):
    return [*lines[:2], lines[2].replace(b"idea 3", b"idea X"), *lines[3:]]


def rehashed(lines):
    row = json.loads(lines[2]) | {"hypothesis": "another"}
    row["hash"] = row_hash(row)
    return [*lines[:2], json.dumps(row).encode() + b"\n", *lines[3:]]


@pytest.mark.parametrize(
    "forge",
    [
        edited,
        rehashed,
        lambda lines: [*lines[:2], *lines[3:]],
        lambda lines: [lines[1], lines[0], *lines[2:]],
        lambda lines: [*lines, lines[-1]],
        lambda lines: lines[:-1],
    ],
    ids=["edited", "edited with its hash", "deleted", "reordered", "doubled", "cut off"],
)
def test_what_can_be_read_is_left_as_it_is(filled, forge):
    filled.ledger.write_bytes(b"".join(forge(lines_of(filled.ledger))))
    before = filled.ledger.read_bytes(), filled.mirror.read_bytes(), filled.anchor.read_bytes()
    assert repair(filled) == (0, [])
    assert (filled.ledger.read_bytes(), filled.mirror.read_bytes(), filled.anchor.read_bytes()) == before


def test_a_deleted_row_beside_a_damaged_line_is_not_brought_back(filled):
    lines = lines_of(filled.ledger)
    filled.ledger.write_bytes(b"".join([lines[0], b"garbage\n", *lines[3:]]))
    repair(filled)
    assert [json.loads(line)["id"] for line in lines_of(filled.ledger)] == [1, 4, 5]
    assert not filled.open().verify().ok


def test_a_full_disk_leaves_everything_as_it_was(filled, monkeypatch):
    damage(filled.ledger, 2, b"garbage\n")
    before = {path: path.read_bytes() for path in filled.root.rglob("*") if path.is_file()}
    writes = 0
    write = os.write

    def full(fd, data):
        nonlocal writes
        writes += 1
        if writes > 1:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(fd, data)

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(Refused) as refused:
        repair(filled)
    monkeypatch.undo()
    assert refused.value.code == "E_DISK_FULL"
    assert {path: path.read_bytes() for path in filled.root.rglob("*") if path.is_file()} == before


def test_a_ledger_of_version_0_is_repaired_by_the_places_of_its_lines(place):
    rows = [{"id": n, "ts": "t", "status": "discard", "branch": "autoresearch/oct11"} for n in range(1, 5)]
    whole = [json.dumps(row).encode() + b"\n" for row in rows]
    place.ledger.parent.mkdir()
    place.mirror.parent.mkdir(parents=True)
    place.mirror.write_bytes(b"".join(whole))
    place.ledger.write_bytes(b"".join([*whole[:1], b"x\n", *whole[2:]]))
    assert repair(place)[0] == 1
    assert lines_of(place.ledger) == whole
