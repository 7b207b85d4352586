"""The keep rule: the project's vectors, properties that must hold for any row, and reasons that a person can read."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from mjolnir.core.judge import judge
from mjolnir.core.model import Experiment, Rule, Status

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "judge.json").read_text())["vectors"]
LENGTHS = (128, 4096, 8192, 16384, 32768, 65536, 131072, 262144)
BAD_TO_GOOD = (Status.DISCARD, Status.NOISY, Status.KEEP)


def from_vector(value):
    """{"$float": "nan"} is a float that JSON has no word for; "$int:128" is the key 128."""
    if isinstance(value, list):
        return [from_vector(v) for v in value]
    if not isinstance(value, dict):
        return value
    if set(value) == {"$float"}:
        return float(value["$float"])
    return {int(k[5:]) if k.startswith("$int:") else k: from_vector(v) for k, v in value.items()}


@pytest.mark.parametrize("vector", VECTORS, ids=lambda v: v["name"])
def test_every_vector_comes_out_right(vector):
    options = {k: from_vector(vector[k]) for k in ("min_gain", "noise", "required") if k in vector}
    row, best = from_vector(vector["row"]), from_vector(vector["best"])
    if vector["status"] == "error":
        with pytest.raises(ValueError, match="min_gain"):
            judge(row, best, **options)
        return
    verdict = judge(row, best, **options)
    assert (verdict.status, verdict.rule) == (vector["status"], vector["rule"])


def test_there_are_the_sixty_common_vectors_and_more():
    assert len(VECTORS) > 60
    assert len({v["name"] for v in VECTORS}) == len(VECTORS)


def flat(ratio, **other):
    """The same number at every L, but for those named as L128=..."""
    return {str(n): other.get(f"L{n}", ratio) for n in LENGTHS}


def row(per_length, references=None):
    return {
        "score": 1.1,
        "correctness": "pass",
        "per_L": per_length,
        "fi_us": flat(100.0) if references is None else references,
    }


BEST = row(flat(1.0))


@pytest.mark.parametrize(
    ("candidate", "reason"),
    [
        (row(flat(1.012)), "geomean +1.2% <= +2%"),
        (row(flat(1.0, L262144=1.5)), "geomean +5.2% rests on 256K (+50%): +0% without it"),
        (row(flat(1.08, L4096=0.949, L8192=0.94)), "geomean +4.4% but slower at 4K (-5.1%), 8K (-6%)"),
        (row(flat(1.05)), "geomean +5%, +5% without its best L (128)"),
        (row(flat(1.05), flat(100.0, L16384=130.0)), "(set aside, reference moved: 16K)"),
        (row(flat(1.05), {}), "(reference not checked)"),
        (row(flat(1.05), {"128": 100.0, "4096": 100.0}), "(no reference at 8K, 16K, 32K, 64K, 128K, 256K)"),
        (
            row(flat(1.05), flat(100.0, L128=130.0, L4096=70.0, L8192=1.0)),
            "FlashInfer reference unstable at 128, 4K, 8K; re-evaluate",
        ),
        (row({"4096": 2.0}), "the sweep lacks 128, 8K, 16K, 32K, 64K, 128K, 256K: a subset is never a keep"),
        (row(flat(1.05, L4096=-1.0)), "bad numbers: per_L at 4K is not finite and positive"),
        (row({**flat(1.05), "4KB": 1.0}), "bad numbers: per_L has a key '4KB' that is no context length"),
        (row({**flat(1.05), "4K": 1.0}), "bad numbers: per_L has two different numbers for 4K"),
        (row(flat(1.05), [100.0]), "bad numbers: the reference time is no mapping of lengths"),
    ],
)
def test_the_reason_says_what_decided_and_where(candidate, reason):
    assert reason in judge(candidate, BEST).reason


def test_the_verdict_carries_the_gain_the_ratios_and_what_was_set_aside():
    verdict = judge(row(flat(1.05, L128=3.0), flat(100.0, L128=300.0)), row(flat(1.0)))
    assert verdict.gain == pytest.approx(0.05)
    assert verdict.relative == pytest.approx({128: 3.0} | dict.fromkeys(LENGTHS[1:], 1.05))
    assert verdict.set_aside == (128,)


def test_typed_rows_are_judged_like_the_mappings_they_came_from():
    def typed(number, candidate):
        return Experiment(id=number, ts="", status=Status.KEEP, **candidate)

    for candidate in (row(flat(1.05)), row(flat(1.0)), row({}), row(flat(1.05), flat(130.0))):
        assert judge(typed(2, candidate), typed(1, BEST)) == judge(candidate, BEST)


@pytest.mark.parametrize("value", [-0.01, math.nan, math.inf, None, "0.02", True, 10**400])
def test_a_min_gain_or_noise_that_is_no_ratio_is_refused(value):
    with pytest.raises(ValueError, match="min_gain"):
        judge(BEST, BEST, min_gain=value)
    with pytest.raises(ValueError, match="noise"):
        judge(BEST, BEST, noise=value)


def test_a_required_length_that_is_none_is_refused():
    with pytest.raises(ValueError, match="context length"):
        judge(BEST, BEST, required=["fast"])


# --- properties -------------------------------------------------------------------------------------------------------

speedups = st.floats(0.2, 5.0)
times_us = st.floats(1.0, 1e6)
sweeps = st.dictionaries(st.sampled_from(LENGTHS), st.tuples(speedups, times_us), min_size=1)
gains = st.sampled_from([0.0, 0.02, 0.05])


def measured(sweep, key=str):
    return {
        "score": math.exp(math.fsum(math.log(s) for s, _ in sweep.values()) / len(sweep)),
        "correctness": "pass",
        "per_L": {key(n): s for n, (s, _) in sweep.items()},
        "fi_us": {key(n): t for n, (_, t) in sweep.items()},
        "mj_us": {key(n): t / s for n, (s, t) in sweep.items()},
    }


def near(sweep, draw, spread):
    """A second sweep over the same L, within `spread` of the first."""
    ratio = st.floats(1 / spread, spread)
    return {n: (s * draw(ratio), t * draw(ratio)) for n, (s, t) in sweep.items()}


@st.composite
def pairs(draw, spread=1.2):
    best = draw(sweeps)
    return near(best, draw, spread), best


@given(sweeps, gains)
def test_an_unchanged_kernel_is_never_kept(sweep, min_gain):
    assert judge(measured(sweep), measured(sweep), min_gain=min_gain).status is Status.DISCARD


@given(pairs(spread=3.0), st.data())
def test_a_subset_of_the_lengths_is_never_kept(pair, data):
    new, best = pair
    assume(len(new) > 1)
    some = data.draw(st.sets(st.sampled_from(sorted(new)), min_size=1, max_size=len(new) - 1))
    verdict = judge(measured({n: new[n] for n in some}), measured(best))
    assert (verdict.status, verdict.rule) == (Status.DISCARD, Rule.PARTIAL_SWEEP)
    shrunk = {n: best[n] for n in some}
    assert judge(measured({n: new[n] for n in some}), measured(shrunk), required=sorted(best)).status is Status.DISCARD


@given(pairs(), gains, st.randoms())
def test_the_order_of_the_lengths_and_the_form_of_their_keys_change_nothing(pair, min_gain, random):
    new, best = pair
    shuffled = list(new)
    random.shuffle(shuffled)
    again = {n: new[n] for n in shuffled}
    first = judge(measured(new), measured(best), min_gain=min_gain)
    assert judge(measured(again), measured(best), min_gain=min_gain) == first
    assert judge(measured(again, key=int), measured(best), min_gain=min_gain) == first


@given(pairs(), gains, st.floats(1.0, 3.0))
def test_a_uniformly_faster_candidate_is_never_judged_worse(pair, min_gain, factor):
    new, best = pair
    faster = {n: (s * factor, t) for n, (s, t) in new.items()}
    before = judge(measured(new), measured(best), min_gain=min_gain).status
    after = judge(measured(faster), measured(best), min_gain=min_gain).status
    assert BAD_TO_GOOD.index(after) >= BAD_TO_GOOD.index(before)
    assert (after is Status.NOISY) == (before is Status.NOISY)


@given(pairs(spread=1.4), gains, st.floats(0.5, 2.0))
def test_a_slower_or_faster_device_changes_no_verdict_while_no_reference_crosses_the_threshold(pair, min_gain, factor):
    new, best = pair
    moved = {n: (s, t * factor) for n, (s, t) in new.items()}

    def has_jumped(sweep):
        return {n: abs(t / best[n][1] - 1) > 0.15 for n, (_, t) in sweep.items()}

    assume(has_jumped(new) == has_jumped(moved))
    assume(all(abs(abs(t / best[n][1] - 1) - 0.15) > 1e-6 for sweep in (new, moved) for n, (_, t) in sweep.items()))
    first, second = (judge(measured(s), measured(best), min_gain=min_gain) for s in (new, moved))
    assert (second.status, second.rule, second.gain) == (first.status, first.rule, first.gain)


anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([10**400, -(10**4000), 2**63, 1e-320, 1.8e308, "pass", "fail", "4K", "NaN"])
    | st.floats()
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
keys = (
    st.sampled_from(["128", "4096", "4K", "16K"]) | st.sampled_from([128, 4096]) | st.text(max_size=4) | st.integers()
)
numbers = st.floats(0.5, 2.0) | st.floats() | anything
maps = st.dictionaries(keys, numbers, max_size=5) | anything
rows = st.fixed_dictionaries(
    {},
    optional={
        "score": st.floats(0.5, 2.0) | anything,
        "correctness": st.just("pass") | anything,
        "per_L": maps,
        "fi_us": maps,
        "mj_us": maps,
    },
)


@given(rows | anything, rows | anything, gains)
def test_nothing_that_a_ledger_can_hold_makes_it_raise(candidate, best, min_gain):
    verdict = judge(candidate, best, min_gain=min_gain)
    assert verdict.status in Status
    assert verdict.rule in Rule
    assert verdict.reason
    assert all(math.isfinite(x) for x in verdict.relative.values())
    assert verdict.gain is None or math.isfinite(verdict.gain)


def test_a_number_too_long_to_be_printed_is_judged_all_the_same():
    assert judge(row(flat(10**5000)), BEST).status is Status.INVALID
    assert judge({**BEST, "score": -(10**5000)}, BEST).status is Status.INVALID
