"""A figure stands for its rounds, keeps or misses its bound, and says so in the table and in the results file."""

from __future__ import annotations

import json

import pytest
from figure import Figure
from machine import describe_machine, slug
from noise import figures as noise_figures
from report import head, table, write_results
from run import verdict


def a_ratio(**values):
    defaults = {
        "name": "status: CPU",
        "unit": "s",
        "ours": (0.1, 0.3, 0.2),
        "peer": (1.0, 1.0, 0.5),
        "is_ratio": True,
        "bound": 0.55,
    }
    return Figure(**(defaults | values))


def a_visit(speedups, unsteady=""):
    return {
        "reference_us": dict.fromkeys(speedups, 100.0),
        "candidate_us": {length: 100.0 / speedup for length, speedup in speedups.items()},
        "unsteady": unsteady,
    }


def test_a_ratio_is_the_median_of_the_ratios_of_each_round():
    assert a_ratio().samples == pytest.approx([0.1, 0.3, 0.4])
    assert a_ratio().value == pytest.approx(0.3)
    assert a_ratio().ratio == pytest.approx(0.3)


def test_a_figure_that_needs_more_than_its_bound_misses_it():
    assert a_ratio().ok
    assert not a_ratio(bound=0.29).ok


def test_a_share_has_to_reach_its_bound():
    share = a_ratio(ours=(0.5, 0.4, 0.6), peer=(), is_ratio=False, at_least=True, bound=1 / 3)
    assert share.ok
    assert not a_ratio(ours=(0.2,), peer=(), is_ratio=False, at_least=True, bound=1 / 3).ok


def test_a_bound_in_seconds_is_on_our_own_time_and_the_peers_is_only_shown():
    figure = a_ratio(is_ratio=False, bound=0.25)
    assert figure.value == pytest.approx(0.2)
    assert figure.ok
    assert figure.ratio == pytest.approx(0.2)


def test_the_table_has_a_line_a_figure_with_bound_and_answer():
    lines = table([a_ratio(), a_ratio(name="chart: CPU", bound=0.1)]).splitlines()
    assert len(lines) == 4
    assert "0.300*" in lines[2]
    assert "<= 0.55  yes" in lines[2]
    assert "<= 0.1   NO" in lines[3]


def test_the_results_file_names_machine_commit_and_every_sample(tmp_path):
    path = tmp_path / "results.json"
    write_results(path, [a_ratio()], {"machine": describe_machine(), "commit": "abc"})
    answer = json.loads(path.read_text())
    assert answer["commit"] == "abc"
    assert answer["machine"]["cpu"]
    assert answer["figures"][0]["ours"] == [0.1, 0.3, 0.2]
    assert answer["figures"][0]["spread"] == [0.1, 0.4]


def test_a_machine_has_a_name_that_fits_a_file():
    assert slug({"cpu": "Some(R) Xeon(R) CPU E5 @ 2.20GHz", "cores": 2}) == "some-xeon-cpu-e5-2c"
    assert "\n" not in head(describe_machine(), "abc", "peer 1").splitlines()[0]


def test_a_missed_bound_is_exit_code_1_and_small_counts_judge_nothing(capsys):
    missed = [a_ratio(), a_ratio(name="chart: CPU", bound=0.1)]
    assert verdict(missed[:1], [], is_quick=False) == 0
    assert verdict(missed, [], is_quick=False) == 1
    assert "missed: chart: CPU" in capsys.readouterr().out
    assert verdict(missed, [], is_quick=True) == 0


def test_a_part_that_cannot_be_measured_is_exit_code_1_with_its_reason(capsys):
    assert verdict([a_ratio()], ["noise: the machine is too busy\nmore"], is_quick=True) == 1
    assert "not measured: noise: the machine is too busy\n" in capsys.readouterr().out


def test_the_noise_of_identical_visits_is_nothing():
    per_length, of_geomean = noise_figures([a_visit({"128": 0.5, "1024": 0.8})] * 3)
    assert per_length.value == pytest.approx(0.0)
    assert of_geomean.value == pytest.approx(0.0)


def test_noise_is_the_scatter_of_the_ratio_at_the_middle_length():
    visits = [a_visit({"128": 1.0, "1024": 1.0, "4096": 1.0}), a_visit({"128": 1.0, "1024": 1.1, "4096": 1.2})]
    per_length, of_geomean = noise_figures(visits)
    assert per_length.value == pytest.approx(100 * (0.1 / 2**0.5) / 1.05)
    assert 0 < of_geomean.value < per_length.value * 1.1


def test_a_visit_that_the_tool_calls_noisy_counts_and_is_said():
    visits = [a_visit({"128": 1.0}), a_visit({"128": 1.5}, unsteady="other load took the CPU")]
    per_length, _ = noise_figures(visits)
    assert per_length.value > 20
    assert "1 of them noisy" in per_length.note
