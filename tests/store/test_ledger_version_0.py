"""A ledger that mjolnir-cli 0.2.0 wrote with its own functions (tests/fixtures/ledger_v0/make.py)."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from store_place import Place, an_experiment

from mjolnir.store.ledger_files import find_tag

OLD = Path(__file__).parents[1] / "fixtures" / "ledger_v0"


@pytest.fixture
def old_place(place):
    (place.root / "research").mkdir()
    for name in ("ledger.jsonl", "ledger.tsv"):
        shutil.copy(OLD / name, place.root / "research" / name)
    return place


def test_an_old_ledger_loads_with_every_value_it_had(old_place: Place):
    ledger = old_place.open()
    written = [json.loads(line) for line in (OLD / "ledger.jsonl").read_text().splitlines()]
    assert ledger.raw_rows() == written
    for row, old in zip(ledger.rows(), written, strict=True):
        assert {key: getattr(row, key) for key in old} == old
    assert ledger.problem is None
    assert ledger.verify().ok


def test_an_old_row_names_its_run_and_the_clause_that_decided(old_place):
    rows = old_place.open().rows()
    assert {row.run for row in rows} == {"oct11"}
    assert [row.rule for row in rows] == [
        "starting_kernel",
        "gain",
        "gain_too_small",
        "rests_on_one_length",
        "slower_at_several",
        "incorrect",
        "stage_failed",
        "reference_unstable",
        "gain",
        "gain_too_small",
        "gain",
    ]
    assert {row.schema for row in rows} == {None}


def test_the_tag_of_an_old_ledger_is_its_branchs(old_place):
    assert find_tag(old_place.root, "main") == "oct11"


def test_an_old_ledger_is_listed_without_touching_it(old_place):
    before = (old_place.ledger.read_bytes(), old_place.view.read_bytes())
    ledger = old_place.open()
    assert [glance.id for glance in ledger.glances()] == list(range(1, 12))
    assert ledger.tail(2)[-1].hypothesis == "prefetch the page table"
    assert ledger.check().ok
    assert (old_place.ledger.read_bytes(), old_place.view.read_bytes()) == before
    assert list(old_place.common_dir.iterdir()) == []


def test_a_new_row_goes_behind_the_old_ones(old_place):
    ledger = old_place.open()
    row = ledger.append(an_experiment("new"))
    assert row.id == 12
    assert row.prev is not None
    again = old_place.open()
    assert again.count() == 12
    assert again.verify().ok
    assert again.notices == []
    assert old_place.mirror.read_bytes() == old_place.ledger.read_bytes()
    assert len(old_place.view.read_text().splitlines()) == 13


def test_an_old_ledger_with_a_torn_last_line_goes_on_without_it(old_place):
    with old_place.ledger.open("ab") as file:
        file.write(b'{"id": 12, "ts": "2025')
    ledger = old_place.open()
    assert ledger.count() == 11
    assert any("research/ledger.jsonl:12" in notice for notice in ledger.notices)
