from __future__ import annotations

import re
from pathlib import Path

import pytest

import mjolnir
from mjolnir.core.catalogue import entries, explain
from mjolnir.core.model import Rule, Status
from mjolnir.errors import ExitCode, UsageFault

SOURCES = Path(mjolnir.__file__).parent.rglob("*.py")
INTEGRITY_CODES = """
    E_STATE E_UNWRITTEN E_PROFILED E_MUTATES E_FOREIGN_KERNEL E_NO_KERNEL E_LAUNCHES E_FLOOR_TIME E_FLOOR_BYTES E_WALL
    E_LEFTOVER E_NUMBERS E_CONTRACT E_IMPORT E_SAME_PROGRAM E_BUDGET E_DIRTY E_OTHER_FILES E_LINEAGE E_GIT_REPLACE
    E_NOT_REGULAR E_LEDGER E_HARNESS E_CONFIG
"""


@pytest.mark.parametrize("word", [*Status, *Rule, *(str(int(e)) for e in ExitCode), *INTEGRITY_CODES.split()])
def test_every_status_rule_exit_and_integrity_code_is_explained(word):
    entry = explain(word)
    assert entry.code == word
    assert entry.meaning.endswith(".")


def test_every_code_that_the_source_can_answer_with_is_explained():
    raised = {code for path in SOURCES for code in re.findall(r'"(E_[A-Z_]+)"', path.read_text("utf-8"))}
    assert raised - {entry.code for entry in entries()} == set()


def test_no_code_has_two_entries_and_every_text_is_short():
    assert len({entry.code.lower() for entry in entries()}) == len(entries())
    assert max(len(entry.meaning) for entry in entries()) <= 160
    assert max(len(entry.mend) for entry in entries()) <= 160


@pytest.mark.parametrize("word", ["e_dirty", "E_Dirty", " dirty ", "E-DIRTY"])
def test_case_blanks_and_a_missing_prefix_do_not_matter(word):
    assert explain(word).code == "E_DIRTY"


@pytest.mark.parametrize("word", ["exit 4", "EXIT4", "4"])
def test_an_exit_is_found_by_its_number(word):
    assert explain(word).kind == "exit"


@pytest.mark.parametrize(("word", "near"), [("E_STAT", "E_STATE"), ("kep", "keep"), ("ledgr", "E_LEDGER")])
def test_a_slip_of_the_keyboard_is_answered_with_the_nearest_codes(word, near):
    with pytest.raises(UsageFault) as caught:
        explain(word)
    assert near in caught.value.hint
    assert word in caught.value.message


@pytest.mark.parametrize("word", ["", "zzzzzz", "\x1b[31m" * 50])
def test_a_word_that_is_near_to_nothing_is_answered_with_the_list(word):
    with pytest.raises(UsageFault) as caught:
        explain(word)
    assert caught.value.hint == "mjolnir explain lists all"
    assert "\x1b" not in caught.value.message
    assert len(caught.value.message) < 250
