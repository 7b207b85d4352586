"""`mjolnir autoresearch status`: where the run stands."""

from __future__ import annotations

import json
import os

import pytest
from reader_place import VERSION_0, make_place, make_run

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
