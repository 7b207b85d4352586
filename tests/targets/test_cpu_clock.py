"""From blocks to times: what one disturbed block, a drift or a third leg does to them."""

import pytest

from mjolnir.targets.cpu_clock import Block, diverged_blocks, leg_times_us


def blocks(*legs, share=1.0):
    """One set's blocks from (role, mean_us) in measuring order."""
    return [Block(role=role, mean_us=us, cpu_share=share, calls=(0, 2)) for role, us in legs]


def palindromes(times_us):
    """Two palindromes of {role: one time or one a pass}."""
    forth = list(times_us)
    passes = [forth, forth[::-1], forth, forth[::-1]]
    of_pass = {role: us if isinstance(us, list) else [us] * 4 for role, us in times_us.items()}
    return blocks(*((role, of_pass[role][number]) for number, order in enumerate(passes) for role in order))


def test_every_leg_of_a_steady_run_has_its_own_time():
    times_us = {"reference": 30.0, "champion": 20.0, "candidate": 10.0}
    assert leg_times_us([palindromes(times_us)], tuple(times_us)) == pytest.approx(times_us)


def test_the_first_leg_sets_the_level_and_the_ratios_give_the_others():
    found = leg_times_us([palindromes({"a": [100, 110, 121, 133.1], "b": [50, 55, 60.5, 66.55]})], ("a", "b"))
    assert found["a"] == pytest.approx((100 * 110 * 121 * 133.1) ** 0.25)
    assert found["a"] / found["b"] == pytest.approx(2.0)


def test_one_disturbed_block_moves_no_ratio():
    found = leg_times_us([palindromes({"a": 100, "b": [50, 50, 90, 50]})], ("a", "b"))
    assert found["a"] / found["b"] == pytest.approx(2.0)


def test_the_ratios_of_all_sets_are_pooled():
    sets = [palindromes({"a": 100, "b": us}) for us in (50, 50, 80)]
    assert leg_times_us(sets, ("a", "b"))["b"] == pytest.approx(50 * (80 / 50) ** (1 / 6))


def test_diverged_clocks_count_only_where_the_ratios_scatter():
    steady = blocks(*(("a", 100.0), ("b", 50.0), ("b", 50.0), ("a", 100.0)) * 2, share=0.5)
    assert diverged_blocks([steady], ("a", "b")) == 0
    wild = blocks(("a", 100.0), ("b", 50.0), ("b", 90.0), ("a", 100.0), share=0.5)
    assert diverged_blocks([wild], ("a", "b")) == 4


def test_a_third_leg_that_scatters_is_seen():
    roles = ("a", "b", "c")
    wild = blocks(("a", 9.0), ("b", 9.0), ("c", 5.0), ("c", 9.0), ("b", 9.0), ("a", 9.0), share=0.5)
    assert diverged_blocks([wild], roles) == 6
