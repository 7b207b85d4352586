"""`mjolnir autoresearch status`: where the run stands."""

from __future__ import annotations

import json
import os

import pytest
from reader_place import VERSION_0, make_place, make_run

from mjolnir.store.anchor import anchor_path
from mjolnir.store.beside import append_fact
from mjolnir.store.inflight import begin_inflight


@pytest.fixture
def place(tmp_path):
    return make_run(tmp_path / "r")


def test_status_tells_the_run_in_words(mjolnir, place):
    answer = mjolnir("autoresearch", "status", cwd=place.root)
    first, second = (commit[:7] for commit in place.commits)
    assert answer.err == ""
    assert answer.out.splitlines() == [
        "run oct11 · branch autoresearch/oct11 · target cpu",
        "experiments  5 (1 baseline, 1 keep, 2 discard, 1 crash)",
        f"baseline     #1 {first}  0.5000x of the reference  baseline: the starting kernel",
        f"champion     #2 {second}  1.5000x of the reference  page tiles",
        "gain         +200.0 % over the baseline (the gains along the kept chain, multiplied)",
        "plateau      3 experiments since the last gain",
        "ledger       5 rows, in order",
    ]


def test_status_json_has_every_key_of_the_contract(mjolnir, place):
    found = json.loads(mjolnir("autoresearch", "status", "--json", cwd=place.root).out)
    assert found["schema"] == "mjolnir.status/1"
    assert (found["run"], found["branch"], found["target"]) == ("oct11", "autoresearch/oct11", "cpu")
    assert found["total"] == 5
    assert found["counts"] == {"baseline": 1, "keep": 1, "discard": 2, "noisy": 0, "crash": 1, "invalid": 0}
    assert (found["baseline"]["id"], found["champion"]["id"], found["score"]) == (1, 2, 1.5)
    assert found["confirmed_gain"] == pytest.approx(2.0)
    assert (found["plateau"], found["since_gain"]) == (False, 3)
    assert (found["chain"]["ok"], found["chain"]["rows"]) == (True, 5)
    assert (found["running"], found["calibration"], found["stop_reason"]) == (None, None, None)


def test_what_was_measured_beside_the_ledger_is_shown_the_newest_of_each(mjolnir, place):
    calibration = {"utc": "2026-03-01T00:05:00+00:00", "sigma": {"128": 0.01, "4096": 0.03}, "se_floor": 0.004}
    found = {"ts": "2026-03-01T00:05:00+00:00", "champion": {"id": 2}, "score": {"value": 1.5, "low": 1.4, "high": 1.6}}
    for name, fact in (("calibrations", {}), ("calibrations", calibration), ("rechecks", {}), ("rechecks", found)):
        append_fact(place.root / ".git", "oct11", name, fact)
    answer = json.loads(mjolnir("autoresearch", "status", "--json", cwd=place.root).out)
    assert (answer["calibration"], answer["recheck"]) == (calibration, found)
    lines = mjolnir("autoresearch", "status").out.splitlines()
    assert "calibration  noise 1.0 to 3.0 % an L; least standard error 0.40 % (03-01 00:05)" in lines
    assert "recheck      1.500x (95 %: 1.400 to 1.600) of the reference (03-01 00:05)" in lines


def test_a_damaged_fact_does_not_hide_the_run(mjolnir, place):
    (place.root / ".git/mjolnir/oct11/rechecks.jsonl").write_text("{}\nhalf\n{}\n")
    answer = mjolnir("autoresearch", "status", "--json", cwd=place.root)
    assert (answer.code, json.loads(answer.out)["recheck"]) == (0, None)
    assert "rechecks.jsonl, line 2" in answer.err


def test_a_gain_whose_steps_were_confirmed_has_an_interval(mjolnir, place):
    assert (
        json.loads(mjolnir("autoresearch", "status", "--json", cwd=place.root).out)["confirmed_gain_interval"] is None
    )
    other = place.root.parent / "confirmed"
    fresh = make_place(other)
    fresh.start_run()
    fresh.append("baseline", ratio=1.0)
    fresh.append("keep", ratio=1.2, confirm={"m": 0.0953102, "se": 0.01})
    found = json.loads(mjolnir("autoresearch", "status", "--json", cwd=other).out)
    assert found["confirmed_gain"] == pytest.approx(0.1)
    assert found["confirmed_gain_interval"] == pytest.approx([0.0787, 0.1218], abs=1e-4)
    assert "gain         +10.0 % over the baseline (95 %: +7.9 % to +12.2 %; the gains along the kept chain" in (
        mjolnir("autoresearch", "status").out
    )


def test_a_plateau_inside_noise_is_told_with_its_figures(mjolnir, place):
    assert json.loads(mjolnir("autoresearch", "status", "--json", cwd=place.root).out)["plateau_text"] is None
    for n in range(15):
        place.append("discard", ratio=1.5 * (1.009 - 0.002 * n))
        place.append("crash")
    sentence = (
        "plateau: the last 15 experiments gained between -1.9 % and +0.9 %, none above what the rule asks for (5.0 %)"
    )
    found = json.loads(mjolnir("autoresearch", "status", "--json").out)
    assert (found["plateau"], found["plateau_text"]) == (True, sentence)
    assert sentence.removeprefix("plateau: ") in mjolnir("autoresearch", "status").out
    assert sentence.removeprefix("plateau: ") in mjolnir("autoresearch", "status", "--brief").out
    append_fact(place.root / ".git", "oct11", "calibrations", {"sd_m": 0.01, "worker_pairs": 2, "se_floor": 0.007})
    assert "inside the noise of this device (2.0 %)" in mjolnir("autoresearch", "status").out
    append_fact(place.root / ".git", "oct11", "calibrations", {"sd_m": 0.001, "worker_pairs": 2, "se_floor": 0.002})
    assert json.loads(mjolnir("autoresearch", "status", "--json").out)["plateau_text"] is None


def test_without_an_anchor_the_ledger_is_in_order_as_far_as_can_be_seen(mjolnir, place):
    assert json.loads(mjolnir("autoresearch", "status", "--json", cwd=place.root).out)["chain"]["anchored"] is True
    anchor_path(place.root / ".git", "oct11").unlink()
    assert (
        "ledger       5 rows, in order, unanchored (rows removed before now would not show)"
        in mjolnir("autoresearch", "status").out.splitlines()
    )
    chain = json.loads(mjolnir("autoresearch", "status", "--json").out)["chain"]
    assert (chain["ok"], chain["anchored"]) == (True, False)


def test_no_run_is_an_answer_and_not_an_error(mjolnir, tmp_path):
    place = make_place(tmp_path / "r")
    answer = mjolnir("autoresearch", "status", cwd=place.root)
    assert answer.code == 0
    assert answer.out.splitlines()[0] == "no run · branch main"
    assert answer.out.splitlines()[-1] == "next         mjolnir autoresearch init TAG"
    found = json.loads(mjolnir("autoresearch", "status", "--json").out)
    assert (found["run"], found["total"], found["champion"], found["score"]) == (None, 0, None, None)
    assert mjolnir("autoresearch", "status", "--brief").code == 0


def test_an_evaluation_in_progress_is_told(mjolnir, place):
    begin_inflight(
        place.root, commit="a" * 40, hypothesis="x [/=]", stage="sweep", started="now", log="research/logs/x.log"
    )
    running = json.loads(mjolnir("autoresearch", "status", "--json", cwd=place.root).out)["running"]
    assert (running["pid"], running["alive"], running["stage"]) == (os.getpid(), True, "sweep")
    assert "running      sweep of aaaaaaaaaaaa since now" in mjolnir("autoresearch", "status").out


def test_an_evaluation_that_died_is_told_with_its_log(mjolnir, place):
    begin_inflight(place.root, commit="a" * 40, hypothesis="x", stage="sweep", started="now", log="research/logs/x.log")
    path = place.root / "research" / ".inflight.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"process": "an earlier boot"}))
    answer = mjolnir("autoresearch", "status", cwd=place.root)
    assert "interrupted  sweep of aaaaaaaaaaaa" in answer.out
    assert "log: research/logs/x.log" in answer.out
    assert json.loads(mjolnir("autoresearch", "status", "--json").out)["running"]["alive"] is False


def test_the_digest_has_task_champion_last_verdicts_and_dead_ends(mjolnir, place):
    for _ in range(40):
        place.append("crash", hypothesis="a long word " * 100)
    lines = mjolnir("autoresearch", "status", "--brief", cwd=place.root).out.splitlines()
    assert len(lines) <= 40
    assert "task         make src/mjolnir_kernel/cpu_decode.py faster at L = 128, 1K, 4K, 16K" in lines
    assert "rule         seed: a keep gains more than 5 % (geomean over L)" in lines
    assert any(line.startswith("champion     #2 ") for line in lines)
    assert any("a plateau, change the approach" in line for line in lines)
    assert lines.index("last verdicts:") < lines.index("dead ends, do not try again:")


def test_rows_that_were_cut_off_are_seen(mjolnir, place):
    for path in (place.root / "research" / "ledger.jsonl", place.root / ".git" / "mjolnir" / "oct11" / "ledger.jsonl"):
        path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))
    answer = mjolnir("autoresearch", "status", cwd=place.root)
    assert answer.code == 0
    assert "ledger       ! DAMAGED: " in answer.out
    assert json.loads(mjolnir("autoresearch", "status", "--json").out)["chain"]["ok"] is False


def test_a_ledger_of_mjolnir_cli_0_2_0_has_a_status(mjolnir, tmp_path):
    place = make_place(tmp_path / "r")
    (place.root / "research").mkdir()
    (place.root / "research" / "ledger.jsonl").write_bytes(VERSION_0.read_bytes())
    found = json.loads(mjolnir("autoresearch", "status", "--json", cwd=place.root).out)
    assert found["run"] == "oct11"
    assert found["total"] == sum(found["counts"].values()) > 0
    assert found["champion"]["status"] in ("baseline", "keep")
    assert mjolnir("autoresearch", "status", "--brief").code == 0
