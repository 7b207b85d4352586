"""The screening of an ordinary run: properties that hold for any rows, and no data that makes it raise."""

from __future__ import annotations

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from test_judge import BEST, LENGTHS, anything, flat, maps, measured, pairs, row, rows, sweeps

from mjolnir.core.confirm import screen
from mjolnir.core.judge import judge
from mjolnir.core.model import Experiment, Rule, Status

BAD_TO_GOOD = (Status.DISCARD, Status.NOISY, None)
"""None: on to the confirmation."""


@given(sweeps)
def test_an_unchanged_kernel_never_passes(sweep):
    answer = screen(measured(sweep), measured(sweep))
    assert (answer.status, answer.rule, answer.gain) == (Status.DISCARD, Rule.GAIN_TOO_SMALL, 0.0)


@given(pairs(), st.floats(1e-3, 1e3))
def test_a_slower_or_faster_device_changes_nothing_however_much_it_drifts(pair, factor):
    new, best = pair
    moved = {n: (s, t * factor) for n, (s, t) in new.items()}
    first, second = (screen(measured(sweep), measured(best)) for sweep in (new, moved))
    assume(all(abs(abs(r) - 0.1) > 1e-7 for r in residuals(new, best)))
    assert second == first


def residuals(new, best):
    """By what share the reference moved at each L against the middle L."""
    drift = sorted(math.log(t / best[n][1]) for n, (_, t) in new.items())
    half = len(drift) // 2
    middle = drift[half] if len(drift) % 2 else (drift[half - 1] + drift[half]) / 2
    return [math.exp(x - middle) - 1 for x in drift]


@given(pairs(), st.floats(1.0001, 3.0))
def test_a_uniformly_faster_candidate_is_never_screened_worse(pair, factor):
    new, best = pair
    faster = {n: (s * factor, t) for n, (s, t) in new.items()}
    before, after = (screen(measured(sweep), measured(best)) for sweep in (new, faster))
    assert BAD_TO_GOOD.index(after.status) >= BAD_TO_GOOD.index(before.status)
    assert (after.status is Status.NOISY) == (before.status is Status.NOISY)
    assert after.set_aside == before.set_aside


@given(pairs(), st.randoms())
def test_the_order_of_the_lengths_and_the_form_of_their_keys_change_nothing(pair, random):
    new, best = pair
    shuffled = list(new)
    random.shuffle(shuffled)
    first = screen(measured(new), measured(best))
    again = measured({n: new[n] for n in shuffled}, key=lambda n: f"{n // 1024}K" if n % 1024 == 0 else n)
    assert screen(again, measured(best)) == first


@given(
    st.lists(st.floats(0.9, 1.2), min_size=8, max_size=8),
    st.sets(st.sampled_from(LENGTHS), min_size=1, max_size=2),
    st.floats(0.5, 0.8) | st.floats(1.2, 2.0),
    st.floats(0.01, 100.0),
)
def test_what_is_set_aside_does_not_speak(speedups, places, jump, luck):
    new = dict(zip(LENGTHS, speedups, strict=True))
    references = {str(n): 100.0 * (jump if n in places else 1.0) for n in LENGTHS}
    answers = [
        screen(row({str(n): s * (factor if n in places else 1.0) for n, s in new.items()}, references), BEST)
        for factor in (1.0, luck)
    ]
    assert answers[0].set_aside == tuple(sorted(places))
    assert answers[1] == answers[0]


@given(pairs(spread=3.0))
def test_three_quarters_of_the_lengths_are_trusted_or_it_is_noisy(pair):
    new, best = pair
    answer = screen(measured(new), measured(best))
    aside, count = len(answer.set_aside), len(new)
    assert (answer.status is Status.NOISY) == (aside > 2 or count - aside < math.ceil(count * 3 / 4))
    assert (answer.gain is None) == (answer.status is Status.NOISY)


@given(rows | anything, rows | anything)
def test_what_judge_ends_in_its_first_four_steps_the_screen_ends_the_same_way(candidate, best):
    verdict = judge(candidate, best)
    assume(not verdict.relative)
    answer = screen(candidate, best)
    assert (answer.status, answer.rule) == (verdict.status, verdict.rule)


def test_one_lucky_length_passes_no_screen_of_five_lengths_or_more():
    assert screen(row(flat(1.0, L262144=40.0)), BEST).status is Status.DISCARD


def test_typed_rows_are_screened_like_the_mappings_they_came_from():
    def typed(number, candidate):
        return Experiment(id=number, ts="", status=Status.KEEP, **candidate)

    jumped = flat(100.0, L128=130.0)
    for candidate in (row(flat(1.05)), row(flat(1.05), jumped), row(flat(1.0)), row({}), row(flat(1.05), {})):
        assert screen(typed(2, candidate), typed(1, BEST)) == screen(candidate, BEST)
    assert screen(typed(2, row(flat(1.05), jumped)), typed(1, BEST)).set_aside == (128,)


def test_a_reference_time_of_a_length_that_was_not_swept_is_not_looked_at():
    extra = flat(100.0) | {"1024": 900.0, "2048": 900.0, "512": 900.0}
    assert screen(row(flat(1.05), extra), row(flat(1.0), flat(100.0) | {"1024": 1.0, "2048": 1.0, "512": 1.0})) == (
        screen(row(flat(1.05)), BEST)
    )


@pytest.mark.parametrize("value", [-0.01, math.nan, math.inf, None, "0.02", True, 10**400])
@pytest.mark.parametrize("name", ["reference_jump", "max_set_aside", "pass_gain"])
def test_a_keyword_that_is_no_ratio_is_refused(name, value):
    with pytest.raises(ValueError, match=name):
        screen(BEST, BEST, **{name: value})


@given(rows | anything, rows | anything)
def test_nothing_that_a_ledger_can_hold_makes_it_raise(candidate, best):
    check_answer(screen(candidate, best))


@given(
    st.dictionaries(st.sampled_from(LENGTHS), st.floats(5e-324, 1.7e308), min_size=1),
    st.dictionaries(st.sampled_from(LENGTHS), st.floats(5e-324, 1.7e308)),
    maps,
)
def test_numbers_at_the_ends_of_what_a_float_holds_make_nothing_raise(per_length, references, other):
    best = row(dict.fromkeys(per_length, 1.0), dict.fromkeys(references, 1.0))
    check_answer(screen(row(per_length, references), best))
    check_answer(screen(row(per_length, other), best))


def check_answer(answer):
    assert answer.status is None or answer.status in Status
    assert (answer.status is None) == (answer.rule is None)
    assert answer.gain is None or math.isfinite(answer.gain)
    assert answer.set_aside == tuple(sorted(answer.set_aside))
