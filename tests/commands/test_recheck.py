"""`mjolnir autoresearch recheck`: the headline measured anew, beside the ledger, from the commits' own bytes."""

from __future__ import annotations

import dataclasses
import json
import re
import signal

import pytest

from doubles.research import KERNEL, Hold, kernel_text
from mjolnir.store.ledger import open_ledger

pytest_plugins = ("doubles.fixtures",)


def make_run(research, *, speedups=(1.3, 1.6), rule="seed", **script):
    """A run on the scripted target whose keeps are these times as fast as the reference."""
    research.started("oct11", "--rule", rule, "--no-calibrate")
    for speedup in speedups:
        research.commit(speedup=speedup, **script)
        assert research.evaluate(f"idea {speedup}").json["status"] == "keep"
    return research


@pytest.fixture
def lab(research):
    return make_run(research)


def recheck(lab, *words):
    return lab.call("autoresearch", "recheck", "--json", *words)


def facts(lab):
    path = lab.root / ".git/mjolnir/oct11/rechecks.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def documents(lab):
    return sorted((lab.root / "research/verify/recheck").glob("*.json"))


def refused(lab, exit_code, code, *words):
    """It must fail and record nothing. Returns the error object."""
    before = lab.state()
    said = recheck(lab, *words)
    assert (said.code, said.json and said.json["error"]["code"]) == (exit_code, code), said.err
    assert said.json["schema"] == "mjolnir.recheck/1"
    assert (lab.state(), facts(lab), documents(lab)) == (before, [], [])
    assert not lab.inflight.exists()
    return said.json["error"]


def races(lab):
    return lab.machine_file.with_name(f"{lab.machine_file.name}.races").read_text().splitlines()


def test_champion_baseline_and_reference_are_measured_beside_what_the_ledger_claims(lab):
    before = lab.ledger.read_bytes()
    found = recheck(lab).json
    assert found["schema"] == "mjolnir.recheck/1"
    assert (found["run"], found["target"], found["rounds"]) == ("oct11", "scripted", 6)
    assert found["lengths"] == [128, 1024, 4096, 16384]
    assert (found["baseline"]["id"], found["champion"]["id"]) == (1, 3)
    assert found["champion"]["commit"] == lab.head()
    assert found["speedup"]["value"] == pytest.approx(1.6)
    assert found["speedup"]["per_L"] == pytest.approx({"128": 1.6, "1024": 1.6, "4096": 1.6, "16384": 1.6})
    assert (found["score"]["value"], found["baseline_score"]["value"]) == pytest.approx((1.6, 1.0))
    assert found["claimed"]["speedup"] == pytest.approx(1.6)
    assert (found["claimed"]["score"], found["claimed"]["low"]) == (pytest.approx(1.6), None)
    assert lab.ledger.read_bytes() == before, "never a row"


def test_an_answer_stands_in_a_fact_and_in_a_run_document(lab):
    found = recheck(lab, "--runs", "3").json
    assert facts(lab) == [found]
    (path,) = documents(lab)
    document = json.loads(path.read_text())
    assert (document["run_id"], document["stage"]) == (found["id"], "recheck")
    points = {series["role"]: series["points"] for series in document["series"]}
    assert points.keys() == {"reference", "baseline", "champion"}
    assert points["champion"][0]["rounds_us"] == pytest.approx([40.0] * 3)
    assert len({race["seed"] for race in document["races"]}) == 3
    assert lab.call("verify", "show", "recheck").code == 0


def test_the_legs_take_turns_in_being_first(lab):
    recheck(lab, "--runs", "4")
    assert races(lab) == [
        "reference, baseline, champion",
        "baseline, champion, reference",
        "champion, reference, baseline",
        "reference, baseline, champion",
    ]


def test_before_the_first_keep_only_the_score_is_measured(research):
    lab = make_run(research, speedups=())
    found = recheck(lab).json
    assert (found["speedup"], found["baseline_score"], found["agrees"]) == (None, None, None)
    assert found["score"]["value"] == pytest.approx(1.0)
    assert set(races(lab)) == {"reference, champion", "champion, reference"}
    assert "the champion is the baseline #1" in lab.call("autoresearch", "recheck").out


def test_the_confirmed_rules_claim_has_an_interval(research):
    found = recheck(make_run(research, rule="confirmed")).json
    claimed = found["claimed"]
    assert claimed["low"] < claimed["speedup"] < claimed["high"]
    assert found["agrees"] is True


def test_it_reads_as_a_table_and_a_headline(lab):
    lab.machine(race_noise={"128": [1.1, 0.9, 1.0]})
    said = lab.call("autoresearch", "recheck")
    lines = said.out.splitlines()
    assert lines[0].split() == ["L", "over", "baseline", "over", "reference"]
    assert lines[4].split() == ["16K", "1.600x", "1.600x"]
    assert re.fullmatch(r"champion #3 over baseline #1: 1\.\d{3}x \(95 %: 1\.\d{3} to 1\.\d{3}\)", lines[5])
    assert lines[6] == "  the ledger claims 1.600x: it holds"
    assert "not a row of the ledger: research/verify/recheck/" in lines[-1]


def test_an_unsteady_round_is_measured_again_once_and_then_noted(lab):
    lab.machine(race_unsteady=["a busy machine", "", "", "busy again", "still busy"])
    found = recheck(lab, "--runs", "3").json
    assert found["notes"] == ["round 1: a busy machine; measured again", "round 3: busy again; measured again"]
    assert found["unsteady"] == ["round 3: still busy"]
    assert len(races(lab)) == 5


def test_the_kernels_are_those_of_the_commits_and_not_what_lies_in_the_work_tree(lab):
    lab.write(KERNEL, kernel_text(speedup=9.0))
    assert recheck(lab).json["speedup"]["value"] == pytest.approx(1.6)


def test_the_kernels_are_those_of_the_rows_and_not_head(lab):
    lab.commit(speedup=9.0)
    assert recheck(lab).json["speedup"]["value"] == pytest.approx(1.6)


@pytest.mark.parametrize("runs", ["1", "0", "-3", "101", "many"])
def test_too_few_or_too_many_rounds_are_wrong_use(lab, runs):
    refused(lab, 2, "E_USAGE", "--runs", runs)


def test_without_a_run_or_a_baseline_there_is_nothing_to_measure(research):
    said = research.call("autoresearch", "recheck", "--json")
    assert (said.code, said.json["error"]["code"]) == (4, "E_RUN")
    assert research.init("oct11", "--no-baseline", "--no-calibrate").code == 0
    error = refused(research, 4, "E_LEDGER")
    assert "no baseline yet" in error["message"]
    assert error["hint"].startswith("mjolnir autoresearch evaluate")


def test_a_commit_that_is_gone_is_refused_with_what_mends_it(lab):
    gone = lab.rows()[0]["commit_full"]
    (lab.root / ".git/objects" / gone[:2] / gone[2:]).unlink()
    said = recheck(lab)
    assert (said.code, said.json["error"]["code"]) == (4, "E_LINEAGE")
    assert f"the commit {gone} of the baseline #1 is gone" in said.json["error"]["message"]
    assert "git fsck --lost-found" in said.json["error"]["hint"]
    assert (facts(lab), documents(lab)) == ([], [])


def test_a_row_that_names_another_kernel_than_its_commit_holds_is_refused(lab):
    ledger = open_ledger(lab.root, lab.root / ".git", tag="oct11")
    ledger.append(dataclasses.replace(ledger.tail(1)[0], kernel_blob="0" * 40))
    error = refused(lab, 4, "E_LEDGER")
    assert "the row of the champion #4 measured 000000000000" in error["message"]


def test_a_champion_that_fails_now_is_the_environments_fault(research):
    lab = make_run(research, extra='RACE = {"fail": "crash", "at": 2}')
    error = refused(lab, 2, "E_CHAMPION")
    assert "the champion fails when it is measured anew: it crashed: RuntimeError: boom" in error["message"]


def test_a_champion_that_breaks_the_rules_now_is_named_with_the_code(research):
    lab = make_run(research, speedups=(1.3,), extra='RACE = {"fail": "E_STATE", "at": 1}')
    assert "it breaks the rules (E_STATE)" in refused(lab, 2, "E_CHAMPION")["message"]


def test_a_device_that_does_not_answer_is_no_finding(lab):
    lab.machine(fault="no device answers")
    refused(lab, 2, "E_DEVICE")


def test_an_unsound_ledger_is_not_measured_from(lab):
    for path in (lab.ledger, lab.root / ".git/mjolnir/oct11/ledger.jsonl"):
        path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))
    refused(lab, 4, "E_LEDGER")


def test_replace_refs_are_refused(lab):
    lab.git("replace", lab.rows()[0]["commit_full"], lab.head())
    refused(lab, 4, "E_GIT_REPLACE")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda x: x.name)
def test_a_signal_records_nothing(lab, number):
    before = lab.state()
    said = Hold(lab, "race", "autoresearch", "recheck", "--json").signal(number)
    assert (said.code, said.json["error"]["code"]) == (130, "E_INTERRUPTED")
    assert (lab.state(), facts(lab), documents(lab)) == (before, [], [])
    assert not lab.inflight.exists()


def test_a_kill_records_nothing_and_the_next_one_works(lab):
    Hold(lab, "race", "autoresearch", "recheck", "--json").signal(signal.SIGKILL)
    assert (facts(lab), documents(lab)) == ([], [])
    assert "interrupted  recheck of" in lab.call("autoresearch", "status").out
    assert "nothing was recorded, run it again" in lab.call("autoresearch", "status").out
    lab.machine()
    assert recheck(lab).code == 0
    assert len(facts(lab)) == len(documents(lab)) == 1
    assert not lab.inflight.exists()


def test_while_it_runs_status_says_so_and_it_does_not_measure_beside_an_evaluation(lab):
    hold = Hold(lab, "race", "autoresearch", "recheck", "--json")
    running = lab.call("autoresearch", "status", "--json").json["running"]
    assert (running["stage"], running["pid"]) == ("recheck", hold.process.pid)
    lab.machine()
    second = lab.spawn("autoresearch", "recheck", "--json", "--runs", "2")
    assert f"process {hold.process.pid}" in second.stderr.readline()
    assert hold.go().code == 0
    assert second.wait(timeout=60) == 0
    assert [fact["rounds"] for fact in facts(lab)] == [6, 2]


def test_status_shows_the_newest_recheck(lab):
    recheck(lab, "--runs", "2")
    newest = recheck(lab, "--runs", "3").json
    assert lab.call("autoresearch", "status", "--json").json["recheck"] == newest
    (line,) = [x for x in lab.call("autoresearch", "status").out.splitlines() if x.startswith("recheck ")]
    assert line.startswith("recheck      1.600x (95 %: 1.600 to 1.600) of the baseline, 1.600x")
    lab.commit(speedup=2.0)
    lab.evaluate("faster still")
    assert "; of #3, before the champion #4" in lab.call("autoresearch", "status").out
