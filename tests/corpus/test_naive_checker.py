"""The corpus has power: what a typical script believes of it. And the script's process is no danger to this one."""

import pytest

from corpus.entry import FOLDER, cheats, read_folder
from corpus.naive_checker import is_fooled


@pytest.mark.parametrize(
    "name", ["trivial-zeros", "state-cache-by-address", "tamper-looks-for-expected", "honest_plain"]
)
def test_it_believes_what_looks_right_once(name):
    assert is_fooled(FOLDER / f"{name}.py")


@pytest.mark.parametrize("name", ["trivial-constant", "text-escapes-in-error", "fault-exits", "tamper-kills-parent"])
def test_it_finds_what_is_plainly_wrong_and_outlives_it(name):
    assert not is_fooled(FOLDER / f"{name}.py")


@pytest.mark.slow
def test_it_lets_more_than_half_of_the_cheats_through():
    found = {e.name: is_fooled(e.path) for e in cheats(read_folder(FOLDER))}
    assert sum(found.values()) > len(found) / 2, found
