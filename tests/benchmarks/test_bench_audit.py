"""The long run that the audit is timed on is an honest one, with every part that costs something."""

from __future__ import annotations

import json

import pytest
from audit_cost import make_long_run
from checkout import OUR_COMMAND, Place
from child_cost import run_child

ROWS = 80


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return Place(folder=tmp_path_factory.mktemp("bench"))


@pytest.fixture(scope="module")
def long_run(place):
    return make_long_run(place, "run", ROWS)


def test_the_audit_of_it_finds_nothing(place, long_run):
    answer = json.loads(run_child([OUR_COMMAND, "autoresearch", "audit", "--json"], cwd=long_run, env=place.env).out)
    assert (answer["ok"], answer["rows"], answer["findings"]) == (True, ROWS, [])


def test_it_has_screens_and_confirmations_of_one_round_and_of_two(long_run):
    rows = [json.loads(line) for line in (long_run / "research/ledger.jsonl").read_text().splitlines()]
    rounds = {len(row["ab"]["rounds"]) for row in rows if row["ab"]}
    assert {1, 2} <= rounds
    assert sum(row["screen"] is not None for row in rows) > ROWS / 2
    assert {row["status"] for row in rows} >= {"baseline", "discard", "crash"}
