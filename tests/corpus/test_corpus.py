"""Each file of the corpus gets the answer on its first line, from real confined workers, with a new seed each time."""

import os

import pytest

from corpus.entry import FOLDER, Entry, read_folder
from corpus.harness import Harness
from corpus.report import summary_line, table

ENTRIES = read_folder(FOLDER)
RUNS = 3 if os.environ.get("MJOLNIR_PROVE") else 1
_ENDS_AT_ONCE = ("discard", "crash", "refused")
_CODES_OF_THE_CHECK = {"E_STATE", "E_UNWRITTEN", "E_MUTATES", "E_CONTRACT"}
_UP_TO_TIMING = (
    *(
        "prepacked",
        "stale_in_timing",
        "stale-from",
        "memo_of",
        "fault-eats",
        "tamper-exit",
        "light_values",
        "page_of_flat",
    ),
    *("never-returns-on", "sniffing", "fp8_", "one_sweep", "past_last", "last_token", "every_second", "fingerprint"),
)


def ends_early(entry: Entry) -> bool:
    """True when the answer comes from the first cases of the check: half a second or so."""
    by_code = set(entry.words) & _CODES_OF_THE_CHECK
    is_early = entry.answers[0] in _ENDS_AT_ONCE or by_code
    return bool(is_early) and not any(word in entry.name for word in _UP_TO_TIMING)


EARLY = [e for e in ENTRIES if ends_early(e)]
QUICK = [*EARLY[::2], *(e for e in ENTRIES if e.name in ("sniffing-pace-of-calls.py",))]


@pytest.fixture(scope="module")
def harness():
    return Harness()


@pytest.mark.parametrize("entry", QUICK, ids=lambda e: e.name)
def test_a_file_is_answered_as_its_first_line_says(entry, harness):
    answer = harness.answer(entry)
    assert not answer.wrong, answer


@pytest.mark.slow
@pytest.mark.parametrize("run", range(1, RUNS + 1))
@pytest.mark.parametrize("entry", ENTRIES, ids=lambda e: e.name)
def test_every_file_is_answered_rightly_in_every_run(entry, run, harness):
    answer = harness.answer(entry)
    assert not answer.wrong, f"run {run}: {answer}"


def test_the_table_says_for_each_file_which_runs_got_which_answer(harness):
    entry = next(e for e in ENTRIES if e.name == "foreign-ctypes-library.py")
    answers = {entry.name: [harness.answer(entry), harness.answer(entry)]}
    lines = table([entry], answers, {entry.name: True}).splitlines()
    assert lines[1].split()[:3] == ["foreign-ctypes-library.py", "foreign", "work"]
    assert lines[1].endswith("refused   refused   E_IMPORT  1,2   right, naive: lets it through")
    said = summary_line([entry], answers, {entry.name: True})
    assert said == "cheats answered rightly: 1 of 1; a naive checker lets 1 of 1 cheats through"
