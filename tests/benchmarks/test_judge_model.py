"""The made-up measurements scatter as the model says, the real rules decide on them, a missed bound is said."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from judge_bench import FIGURES, main, missed, table, verdict
from judge_model import DEFAULT, KEYS, LENGTHS, LEVELS, QUIET, RULES, SHARED_GPU, TRUE_US, Device, Idea
from judge_trials import QUICK, Counts, Estimate, Trials, mean_of, wilson

from mjolnir.core.model import Status

STILL = replace(QUIET, name="still", cv=(0.0,) * len(LENGTHS), drift=0.0)


def log_speedups(rows):
    return np.log([[row["per_L"][k] for k in KEYS] for row in rows])


def log_references(rows):
    return np.log([[row["fi_us"][k] for k in KEYS] for row in rows]) - math.log(TRUE_US)


def test_the_same_seed_draws_the_same_runs_and_another_seed_others():
    assert Device(DEFAULT, 1, 2).runs(3) == Device(DEFAULT, 1, 2).runs(3)
    assert Device(DEFAULT, 1, 2).runs(3) != Device(DEFAULT, 1, 3).runs(3)


@pytest.mark.parametrize("noise", [QUIET, replace(QUIET, name="heavy tails", freedom=5)], ids=lambda n: n.name)
def test_a_ratio_of_two_processes_scatters_at_each_length_by_its_cv(noise):
    spread = log_speedups(Device(noise, 1).runs(8000)).std(axis=0)
    assert spread == pytest.approx(np.array(noise.cv), rel=0.08)


def test_a_drift_moves_every_leg_of_a_run_and_no_speedup():
    rows = Device(replace(STILL, drift=0.04), 1).runs(4000)
    assert log_references(rows).std() == pytest.approx(0.04, rel=0.06)
    assert np.abs(log_speedups(rows)).max() < 1e-12


def test_what_is_common_to_a_run_moves_the_reference_against_the_kernel_at_every_length_alike():
    speedups = log_speedups(Device(replace(STILL, common=0.005), 1).runs(4000))
    assert speedups[:, 0].std() == pytest.approx(0.005, rel=0.06)
    assert np.abs(speedups - speedups[:, :1]).max() < 1e-12


def test_the_kernel_is_slow_at_16k_in_every_second_process():
    device = Device(replace(STILL, slow_mode=DEFAULT.slow_mode), 1)
    at_16k = log_speedups(device.runs(2000))[:, LENGTHS.index(16384)]
    assert set(np.round(at_16k, 9)) == {0.0, round(-math.log(1.163), 9)}
    assert np.mean(at_16k < 0) == pytest.approx(0.5, abs=0.05)
    rounds = [device.round(0.0, 0.0)[16384] for _ in range(400)]
    assert {round(math.log(a / b), 6) for a, b in rounds} == {
        0.0,
        round(math.log(1.163), 6),
        -round(math.log(1.163), 6),
    }


def test_outliers_come_as_often_and_as_far_as_the_model_says():
    noise = replace(STILL, outlier_reference_longest=0.03, outlier_reference=0.01)
    moved = log_references(Device(noise, 1).runs(20_000))
    hit = moved > 0
    assert hit[:, -1].mean() == pytest.approx(0.03, rel=0.15)
    assert hit[:, :-1].mean() == pytest.approx(0.01, rel=0.15)
    assert moved[hit].min() >= math.log(1.05) - 1e-9
    assert moved.max() <= math.log(2.0) + 1e-9


def test_a_true_gain_makes_the_candidate_faster_by_that_much_and_nothing_else():
    device = Device(STILL, 1)
    assert log_speedups(device.runs(2, math.log(1.03))) == pytest.approx(math.log(1.03))
    assert log_speedups(device.runs(2, np.log([1.0, 0.9])))[:, 0] == pytest.approx(np.log([1.0, 0.9]), abs=1e-12)
    pair = device.round(math.log(1.03), math.log(1.01))[128]
    assert pair == pytest.approx((TRUE_US / 1.01, TRUE_US / 1.03))


def test_both_legs_of_a_round_share_one_drift():
    device = Device(replace(STILL, drift=0.04), 1)
    rounds = [device.round(0.0, 0.0)[128] for _ in range(20)]
    assert all(a == pytest.approx(b) for a, b in rounds)
    assert len({round(a, 6) for a, _ in rounds}) == 20


def test_a_keep_records_the_drift_between_rounds_as_speed_unless_the_reference_is_levelled():
    device = Device(replace(STILL, drift=0.04), 1)
    scores = {True: [], False: []}
    for _ in range(200):
        rounds = [device.round(0.0, 0.0) for _ in range(2)]
        for is_levelled, found in scores.items():
            found.append(math.log(device.confirmed_row(rounds, is_levelled=is_levelled)["score"]))
    assert scores[True] == pytest.approx([0.0] * 200, abs=1e-12)
    assert np.std(scores[False]) == pytest.approx(0.04 / math.sqrt(2), rel=0.2)


def test_a_shared_gpu_is_noisier_than_the_default_in_everything():
    assert SHARED_GPU.drift > DEFAULT.drift
    assert SHARED_GPU.common == pytest.approx(2 * DEFAULT.common)
    assert SHARED_GPU.cv == pytest.approx(tuple(2.4 * x for x in DEFAULT.cv))
    assert SHARED_GPU.outlier_kernel == pytest.approx(3 * DEFAULT.outlier_kernel)


# --- the rules on it --------------------------------------------------------------------------------------------------


def test_without_noise_both_rules_keep_a_gain_and_nothing_else():
    for rule in RULES.values():
        device = Device(STILL, 1)
        best = device.runs(1)[0]
        for gain, status in ((0.0, Status.DISCARD), (math.log(1.05), Status.KEEP), (-0.05, Status.DISCARD)):
            assert rule(device, device.runs(1, gain)[0], best, Idea(gain=gain)).status is status


def test_a_confirmation_costs_two_legs_a_round_and_a_keep_one_more():
    device = Device(STILL, 1)
    best = device.runs(1)[0]
    no_op, keep = (RULES["confirmed"](device, device.runs(1, g)[0], best, Idea(gain=g)) for g in (0.0, 0.05))
    assert (no_op.leg_sweeps, keep.leg_sweeps) == (2, 2 + 2 * 2 + 1)
    assert keep.row["score"] == pytest.approx(math.exp(0.05))


def test_the_seed_rule_keeps_no_ops_about_as_often_as_was_published_and_confirmed_hardly_ever():
    counts = replace(QUICK, no_ops=1500)
    seed, confirmed = (
        Trials(rule=RULES[name], noise=DEFAULT, counts=counts, seed=7).figures() for name in ("seed", "confirmed")
    )
    assert 4.0 < seed["no_op"].value < 7.0
    assert confirmed["no_op"].value <= 0.1
    assert 2.3 < confirmed["leg_sweeps"].value < 2.5
    assert seed["no_op_twice"].value > seed["no_op"].value


def test_a_rule_that_keeps_all_is_caught_by_every_figure_of_false_keeps():
    def keep_all(device, row, best, idea):
        return RULES["seed"](device, row | {"per_L": dict.fromkeys(KEYS, 9.0)}, best, idea)

    found = Trials(rule=keep_all, noise=STILL, counts=QUICK, seed=1).figures()
    for key in ("no_op", "no_op_twice", "harmful", "gain_1", "gain_5"):
        assert found[key].value == 100.0


# --- figures, table, results ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("hits", "trials", "low", "high"),
    [(0, 8000, 0.0, 0.04800), (50, 100, 40.3832, 59.6168), (100, 100, 96.3005, 100.0), (1, 10, 1.7876, 40.4150)],
)
def test_a_share_has_wilsons_interval(hits, trials, low, high):
    estimate = wilson(hits, trials)
    assert estimate.value == pytest.approx(100 * hits / trials)
    assert (estimate.low, estimate.high) == pytest.approx((low, high), abs=2e-4)


@pytest.mark.parametrize(("hits", "trials"), [(0, 0), (-1, 5), (6, 5)])
def test_a_share_of_nothing_is_refused(hits, trials):
    with pytest.raises(ValueError, match="is no share"):
        wilson(hits, trials)


def test_a_mean_has_an_interval_around_it():
    estimate = mean_of([1.0, 2.0, 3.0])
    assert (estimate.value, estimate.trials) == (2.0, 3)
    assert estimate.high - 2.0 == pytest.approx(1.959964 / math.sqrt(3))
    with pytest.raises(ValueError, match="two values"):
        mean_of([1.0])


def everywhere(**values):
    """The same estimates of every rule at every noise: each bound is just kept, but for `values`."""
    estimates = {key: values.get(key, figure.bound or 0.0) for key, figure in FIGURES.items()}
    found = {k: Estimate(value=v, low=v, high=v, trials=1) for k, v in estimates.items()}
    return {(rule, noise.name): found for rule in RULES for noise in LEVELS}


def test_a_bound_that_is_missed_is_named_and_gives_exit_code_1(capsys):
    assert verdict(everywhere(), is_quick=False) == 0
    found = everywhere(gain_3=92.9, no_op=0.11)
    assert missed(found) == ["a no-op is kept", "a true +3 % is kept"]
    assert verdict(found, is_quick=False) == 1
    assert "missed: a true +3 % is kept" in capsys.readouterr().out
    assert verdict(found, is_quick=True) == 0
    assert table(found).count(" NO") == 2


def test_only_confirmed_at_the_default_noise_has_to_keep_the_bounds():
    bad = everywhere(no_op=50.0)
    found = bad | {("confirmed", DEFAULT.name): everywhere()["confirmed", DEFAULT.name]}
    assert missed(found) == []


def test_the_bounds_are_those_of_the_document():
    assert {key: (f.bound, f.at_least) for key, f in FIGURES.items() if f.bound is not None} == {
        "no_op": (0.1, False),
        "no_op_twice": (0.15, False),
        "gain_3": (93.0, True),
        "gain_5": (97.5, True),
        "best_late": (0.5, False),
        "power_lost": (2.0, False),
        "harmful": (0.01, False),
        "leg_sweeps": (2.5, False),
        "noisy": (0.2, False),
    }


def test_small_counts_show_every_figure_of_both_rules_at_three_noises_and_judge_nothing(tmp_path, capsys):
    paths = [tmp_path / "one.json", tmp_path / "two.json"]
    for path in paths:
        assert main(["--quick", "--out", str(path)]) == 0
    out = capsys.readouterr().out
    assert "no bound was judged" in out
    assert all(figure.name in out for figure in FIGURES.values())
    answer, again = (json.loads(path.read_text()) for path in paths)
    assert again["figures"] == answer["figures"]
    assert len(answer["figures"]) == len(FIGURES) * len(RULES) * len(LEVELS)
    assert [noise["name"] for noise in answer["noise"]] == ["default", "quiet", "shared GPU"]
    assert Counts(**answer["counts"]) == QUICK
    assert all(f["low"] <= f["value"] <= f["high"] for f in answer["figures"])
