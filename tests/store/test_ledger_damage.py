"""Torn, truncated, removed, edited, forged, moved: mended where nothing is guessed, else refused with file and line."""

from __future__ import annotations

import json

import pytest
from store_place import an_experiment

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


def test_rows_cut_off_from_ledger_and_mirror_show(place):
    place.fill(3)
    for path in (place.ledger, place.mirror):
        path.write_bytes(b"".join(lines_of(path)[:2]))
    require_refused(place, "2 rows", "3 were recorded")
    assert len(place.open().rows()) == 2


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


def test_a_damaged_anchor_is_refused_with_the_command_that_mends_it(place):
    place.fill(1)
    place.anchor.write_text("{")
    require_refused(place, str(place.anchor))
    place.anchor.rename(place.anchor.with_suffix(".aside"))
    assert place.open().append(an_experiment("two")).id == 2


def test_a_row_removed_from_the_middle_shows_with_its_line(place):
    place.fill(4)
    lines = lines_of(place.ledger)
    place.ledger.write_bytes(b"".join(lines[:1] + lines[2:]))
    require_refused(place, "research/ledger.jsonl:2")
