"""`mjolnir explain`: the words of mjolnir."""

from __future__ import annotations

import json

import pytest

from mjolnir.core.catalogue import entries


@pytest.mark.parametrize("word", [entry.code for entry in entries()])
def test_every_word_is_explained(mjolnir, word):
    answer = mjolnir("explain", word)
    assert (answer.code, answer.err) == (0, "")
    assert len(answer.out.splitlines()) >= 2


def test_without_a_word_all_are_listed_by_kind(mjolnir):
    out = mjolnir("explain").out
    assert all(f"  {entry.code}" in out for entry in entries())
    assert "refused: exit 4, no row" in out.splitlines()


def test_json_is_one_object(mjolnir):
    found = json.loads(mjolnir("explain", "dirty", "--json").out)
    assert found["schema"] == "mjolnir.explain/1"
    assert [entry["code"] for entry in found["entries"]] == ["E_DIRTY"]
    assert len(json.loads(mjolnir("explain", "--json").out)["entries"]) == len(entries())


@pytest.mark.parametrize("word", ["E_DIRTI", "[/=]", "\x1b[31m", "x" * 10_000])
def test_an_unknown_word_is_wrong_use_in_two_lines(mjolnir, word):
    answer = mjolnir("explain", word)
    assert answer.code == 2
    assert [line.split(":")[0] for line in answer.err.splitlines()] == ["error", "hint"]
    assert "\x1b" not in answer.err
