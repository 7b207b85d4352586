"""The long ledgers that are measured are what the tool itself would have written."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from bulk_ledger import our_row, write_ledger
from sample_run import TAG, make_facts

from mjolnir.store.anchor import anchor_path
from mjolnir.store.ledger import open_ledger, start_ledger

HEAD = "0123456789abcdef0123456789abcdef01234567"
COUNT = 25


def a_started_run(folder):
    root, common_dir = folder / "tree", folder / "git"
    root.mkdir(parents=True)
    common_dir.mkdir()
    start_ledger(root, common_dir, tag=TAG)
    return root, common_dir


@pytest.fixture
def at_once(tmp_path):
    place = a_started_run(tmp_path / "at_once")
    write_ledger(*place, COUNT, HEAD)
    return place


@pytest.fixture
def row_by_row(tmp_path):
    place = a_started_run(tmp_path / "row_by_row")
    ledger = open_ledger(*place, tag=TAG)
    for fact in make_facts(COUNT):
        ledger.append(our_row(fact, HEAD))
    return place


@pytest.mark.parametrize(
    "name", ["tree/research/ledger.jsonl", "tree/research/ledger.tsv", "git/mjolnir/oct11/ledger.jsonl"]
)
def test_a_ledger_written_at_once_is_byte_for_byte_that_of_as_many_appends(at_once, row_by_row, name):
    written, appended = at_once[0].parent / name, row_by_row[0].parent / name
    assert written.read_bytes() == appended.read_bytes()


def test_the_anchor_of_a_ledger_written_at_once_is_that_of_as_many_appends(at_once, row_by_row):
    written, appended = (anchor_path(common_dir, TAG).read_text() for _, common_dir in (at_once, row_by_row))
    assert json.loads(written) == json.loads(appended)


def test_every_link_of_a_ledger_written_at_once_holds(at_once):
    ledger = open_ledger(*at_once, tag=TAG)
    assert ledger.notices == []
    assert ledger.verify().ok
    assert ledger.count() == COUNT


def test_a_sample_row_is_about_as_long_as_a_real_one(at_once):
    lines = (at_once[0] / "research" / "ledger.jsonl").read_bytes().splitlines()
    assert 1500 < sum(map(len, lines)) / len(lines) < 4000


def test_a_sample_run_looks_like_a_long_run_of_experiments():
    statuses = Counter(fact.status for fact in make_facts(3000))
    assert statuses["baseline"] == 1
    assert 10 < statuses["keep"] < 100
    assert statuses["discard"] > 2000
    assert statuses["crash"] > 100
    assert statuses["noisy"] > 20


def test_a_sample_run_is_the_same_every_time():
    assert list(make_facts(50)) == list(make_facts(50))
