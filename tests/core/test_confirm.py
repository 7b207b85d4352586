"""The confirmation: properties that hold for any rounds, and no data that makes it raise."""

from __future__ import annotations

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from mjolnir.core.confirm import FIRST_ROUND_GAIN, LEAST_T, decide, trim
from mjolnir.core.model import Rule, Status

LENGTHS = (128, 4096, 8192, 16384, 32768, 65536, 131072, 262144)
BAD_TO_GOOD = (Status.DISCARD, None, Status.KEEP)
"""None: another round decides."""

times_us = st.floats(1.0, 1e6)
gains = st.sampled_from([0.0, 0.02, 0.05])
attempts = st.sampled_from([1, 2])
scatters = st.sampled_from([1.001, 1.02, 1.3])
speeds = st.floats(0.9, 1.2)


@st.composite
def measured_rounds(draw, least=1, most=3, centre=speeds):
    """Rounds of a candidate that is `centre` times as fast as the champion, give or take."""
    lengths = draw(st.lists(st.sampled_from(LENGTHS), min_size=1, unique=True))
    middle, scatter = draw(centre), draw(scatters)
    ratio = st.floats(middle / scatter, middle * scatter)
    rounds = []
    for _ in range(draw(st.integers(least, most))):
        champion = {n: draw(times_us) for n in lengths}
        rounds.append({n: (t, t / draw(ratio)) for n, t in champion.items()})
    return rounds


def same(rounds, factor_candidate=1.0, factor_both=1.0):
    return [{n: (a * factor_both, b * factor_both * factor_candidate) for n, (a, b) in r.items()} for r in rounds]


def is_clear(decision, min_gain, attempt):
    """No number lies so near a threshold that the last bits of a division could decide."""
    least_m = math.log1p(FIRST_ROUND_GAIN if decision.t is None else min_gain)
    return abs(decision.m - least_m) > 1e-7 and (decision.t is None or abs(decision.t - LEAST_T[attempt]) > 1e-6)


def away_from_loss_thresholds(rounds):
    logs = [{n: math.log(a / b) for n, (a, b) in r.items()} for r in rounds]
    means = [sum(x[n] for x in logs) / len(logs) for n in logs[0]]
    return all(abs(v - math.log(0.92)) > 1e-7 for x in logs for v in x.values()) and all(
        abs(v - math.log(0.97)) > 1e-7 for v in means
    )


@given(st.lists(st.dictionaries(st.sampled_from(LENGTHS), times_us, min_size=1), min_size=1, max_size=3), gains)
def test_a_candidate_identical_to_the_champion_is_never_kept(rounds, min_gain):
    lengths = set.intersection(*(set(r) for r in rounds))
    assume(lengths)
    decision = decide([{n: (r[n], r[n]) for n in lengths} for r in rounds], min_gain=min_gain)
    assert (decision.status, decision.rule, decision.gain) == (Status.DISCARD, Rule.NOT_CONFIRMED, 0.0)


@given(measured_rounds(), st.lists(st.floats(1e-3, 1e3), min_size=3, max_size=3), gains, attempts)
def test_scaling_both_legs_of_a_round_changes_nothing(rounds, factors, min_gain, attempt):
    first = decide(rounds, min_gain=min_gain, attempt=attempt)
    assume(is_clear(first, min_gain, attempt) and away_from_loss_thresholds(rounds))
    scaled = [same([r], factor_both=f)[0] for r, f in zip(rounds, factors, strict=False)]
    second = decide(scaled, min_gain=min_gain, attempt=attempt)
    outcome = ("status", "rule", "slower", "deep", "more")
    assert [getattr(second, k) for k in outcome] == [getattr(first, k) for k in outcome]
    assert second.m == pytest.approx(first.m, abs=1e-9)
    assert second.se == (None if first.se is None else pytest.approx(first.se, rel=1e-6))


@given(measured_rounds(), st.floats(1.0001, 3.0), gains, attempts)
def test_a_uniformly_faster_candidate_is_never_decided_worse(rounds, factor, min_gain, attempt):
    before = decide(rounds, min_gain=min_gain, attempt=attempt)
    after = decide(same(rounds, factor_candidate=1 / factor), min_gain=min_gain, attempt=attempt)
    assert BAD_TO_GOOD.index(after.status) >= BAD_TO_GOOD.index(before.status)
    assert after.gain > before.gain
    assert set(after.slower) <= set(before.slower)
    assert set(after.deep) <= set(before.deep)


@given(measured_rounds(), gains, attempts, st.randoms())
def test_the_order_of_the_lengths_and_the_form_of_their_keys_change_nothing(rounds, min_gain, attempt, random):
    first = decide(rounds, min_gain=min_gain, attempt=attempt)
    shuffled = []
    for r in rounds:
        keys = list(r)
        random.shuffle(keys)
        forms = (str, int, lambda n: f"{n // 1024}K" if n % 1024 == 0 else str(n))
        shuffled.append({random.choice(forms)(n): list(r[n]) for n in keys})
    assert decide(shuffled, min_gain=min_gain, attempt=attempt) == first


@given(measured_rounds(least=2), gains, st.randoms())
def test_the_order_of_the_rounds_changes_nothing_once_two_are_measured(rounds, min_gain, random):
    first = decide(rounds, min_gain=min_gain)
    assume(is_clear(first, min_gain, 1) and away_from_loss_thresholds(rounds))
    random.shuffle(rounds)
    second = decide(rounds, min_gain=min_gain)
    assert (second.status, second.rule, second.slower, second.deep) == (
        first.status,
        first.rule,
        first.slower,
        first.deep,
    )


@given(measured_rounds(least=3, centre=st.floats(1.0, 3.0)), st.floats(0.01, 0.919), st.data())
def test_one_length_that_stays_deep_is_never_kept(rounds, ratio, data):
    place = data.draw(st.sampled_from(sorted(rounds[0])))
    deep = [r | {place: (r[place][0], r[place][0] / ratio)} for r in rounds]
    answers = [decide(deep[:count]) for count in (1, 2, 3)]
    assert Status.KEEP not in [answer.status for answer in answers]
    assert answers[-1].status is Status.DISCARD
    assert all(place in answer.deep for answer in answers)


@given(measured_rounds(), gains, attempts)
def test_the_numbers_agree_with_each_other(rounds, min_gain, attempt):
    decision = decide(rounds, min_gain=min_gain, attempt=attempt)
    assert decision.more is (decision.status is None) is (decision.rule is None)
    assert decision.gain == pytest.approx(math.exp(decision.m) - 1)
    assert decision.more <= (len(rounds) < 3)
    if len(rounds) == 1:
        assert (decision.se, decision.t) == (None, None)
        assert decision.status in (None, Status.DISCARD)
        return
    assert decision.se >= 0.002
    assert decision.t == pytest.approx(decision.m / decision.se)
    if decision.status is Status.KEEP:
        assert decision.gain > min_gain
        assert decision.t > LEAST_T[attempt]
        assert len(decision.slower) <= 1
        assert decision.deep == ()


@given(measured_rounds(least=2), gains)
def test_a_second_attempt_and_a_higher_floor_never_help(rounds, min_gain):
    once = decide(rounds, min_gain=min_gain)
    for stricter in (
        decide(rounds, min_gain=min_gain, attempt=2),
        decide(rounds, min_gain=min_gain, se_floor=0.01),
        decide(rounds, min_gain=min_gain + 0.01),
    ):
        assert BAD_TO_GOOD.index(stricter.status) <= BAD_TO_GOOD.index(once.status)


@given(measured_rounds(least=2), st.data(), st.floats(1.0, 1e3))
def test_one_length_of_five_or_more_cannot_make_a_gain(rounds, data, luck):
    assume(len(rounds[0]) >= 5)
    place = data.draw(st.sampled_from(sorted(rounds[0])))
    still = [{n: (t, t) for n, (t, _) in r.items()} for r in rounds]
    lucky = [r | {place: (r[place][0], r[place][0] / luck)} for r in still]
    assert decide(lucky).m == pytest.approx(0.0, abs=1e-12)
    assert decide(lucky).status is Status.DISCARD


def test_without_a_floor_equal_rounds_have_no_error_and_still_an_answer():
    faster = [dict.fromkeys(LENGTHS, (105.0, 100.0))] * 2
    assert (decide(faster, se_floor=0.0).status, decide(faster, se_floor=0.0).t) == (Status.KEEP, math.inf)
    still = [dict.fromkeys(LENGTHS, (100.0, 100.0))] * 2
    assert (decide(still, se_floor=0.0).status, decide(still, se_floor=0.0).t) == (Status.DISCARD, 0.0)
    slower = [dict.fromkeys(LENGTHS, (100.0, 105.0))] * 2
    assert decide(slower, se_floor=0.0).t == -math.inf


@pytest.mark.parametrize("attempt", [0, 3, -1, True, None, "1", [1], math.nan])
def test_an_attempt_that_is_neither_the_first_nor_the_second_is_refused(attempt):
    with pytest.raises(ValueError, match="attempt"):
        decide([{128: (1.0, 1.0)}], attempt=attempt)


def test_a_fourth_round_is_refused_whatever_it_holds():
    with pytest.raises(ValueError, match="4 rounds"):
        decide([None] * 4)


@pytest.mark.parametrize("value", [-0.01, math.nan, math.inf, None, "0.02", True, 10**400])
def test_a_min_gain_or_floor_that_is_no_ratio_is_refused(value):
    with pytest.raises(ValueError, match="min_gain"):
        decide([{128: (1.0, 1.0)}], min_gain=value)
    with pytest.raises(ValueError, match="se_floor"):
        decide([{128: (1.0, 1.0)}], se_floor=value)


def test_trim_leaves_out_one_value_on_each_side_from_five_on():
    assert trim([1.0, 2.0, 3.0, 90.0]) == 24.0
    assert trim([90.0, 1.0, 3.0, 2.0, -80.0]) == 2.0
    assert trim([5.0, 5.0, 5.0, 5.0, 1.0]) == 5.0
    with pytest.raises(ValueError, match="no values"):
        trim([])


anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([10**400, -(10**4000), 2**63, 1e-320, 1.8e308, 5e-324, "4K", "NaN"])
    | st.floats()
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
keys = st.sampled_from(["128", "4096", "4K", "16K", 128, 4096]) | st.text(max_size=4) | st.integers()
extreme = st.floats(0.5, 2.0) | st.floats(min_value=5e-324) | st.sampled_from([10**5000, 10**300, 5e-324, 1.7e308])
some_pairs = st.lists(extreme, min_size=2, max_size=2) | st.tuples(extreme, extreme) | anything
some_rounds = st.lists(st.dictionaries(keys, some_pairs, max_size=5) | anything, max_size=3) | anything


@given(some_rounds, gains, attempts)
def test_nothing_that_a_ledger_can_hold_makes_it_raise(rounds, min_gain, attempt):
    assume(not isinstance(rounds, list) or len(rounds) <= 3)
    decision = decide(rounds, min_gain=min_gain, attempt=attempt)
    assert decision.status is None or decision.status in Status
    assert decision.rule is None or decision.rule in Rule
    for number in (decision.gain, decision.m, decision.se, decision.t):
        assert number is None or math.isfinite(number)


@given(st.lists(st.fixed_dictionaries(dict.fromkeys(map(str, LENGTHS), st.tuples(extreme, extreme))), max_size=3))
def test_times_at_the_ends_of_what_a_float_holds_give_finite_numbers_or_invalid(rounds):
    decision = decide(rounds)
    if decision.status is Status.INVALID:
        assert (decision.rule, decision.gain, decision.m, decision.more) == (Rule.BAD_NUMBERS, None, None, False)
    else:
        assert math.isfinite(decision.gain)
        assert math.isfinite(decision.m)
