"""`mjolnir autoresearch evaluate`: verdicts, rows, answers and exit codes, on the scripted target."""

from __future__ import annotations

import json
import subprocess

import pytest

from doubles.research import KERNEL, kernel_text

pytest_plugins = ("doubles.fixtures",)

ANSWER_KEYS = {
    *("schema", "id", "status", "rule", "reason", "score", "best_before", "correctness", "commit", "per_L", "vs_best"),
    *("set_aside", "codes", "attempt", "seconds", "next", "profile", "log"),
}
ROW_KEYS = {
    *("id", "ts", "branch", "commit", "status", "reason", "score", "best_before", "min_gain", "correctness", "per_L"),
    *(
        "fi_us",
        "mj_us",
        "agent",
        "hypothesis",
        "sources",
        "verify_runs",
        "vs_best",
        "schema",
        "run",
        "target",
        "device",
    ),
    *("commit_full", "parent_full", "kernel_blob", "program_hash", "champion_id", "champion_commit", "rule", "params"),
    *("judge", "attempt", "harness_hash", "config_hash", "seconds", "codes", "profile", "prev", "hash"),
}


@pytest.fixture
def lab(research):
    return research.started()


def test_a_faster_kernel_is_kept_with_every_key_of_its_row(lab):
    base = lab.head()
    commit = lab.commit(speedup=1.2)
    said = lab.evaluate("tiles", "--agent", "ada", "--sources", "https://a/1, https://b/2,")
    assert said.code == 0
    assert set(said.json) >= ANSWER_KEYS
    assert (said.json["status"], said.json["rule"], said.json["score"]) == ("keep", "gain", pytest.approx(1.2))
    assert said.json["next"] == {"action": "continue", "text": said.json["next"]["text"], "command": None}
    row = lab.rows()[-1]
    assert set(row) >= ROW_KEYS
    assert (row["agent"], row["sources"], row["hypothesis"]) == ("ada", ["https://a/1", "https://b/2"], "tiles")
    assert (row["commit_full"], row["parent_full"], row["champion_commit"], row["champion_id"]) == (
        commit,
        base,
        base,
        1,
    )
    assert row["kernel_blob"] == lab.git("rev-parse", f"HEAD:{KERNEL}") == said.json["kernel_blob"]
    assert row["per_L"] == pytest.approx({"128": 1.2, "1024": 1.2, "4096": 1.2, "16384": 1.2})
    assert row["params"]["rule"] == "seed"
    assert (row["params"]["min_gain"], row["params"]["noise"], row["params"]["reference_jump"]) == (0.05, 0.03, 0.15)
    assert row["judge"] == {"status": "keep", "reason": row["reason"]}
    assert set(row["seconds"]) == {"queue", "correctness", "sweep", "total"}


def test_numbers_have_six_significant_digits(lab):
    lab.commit(speedup=1.23456789)
    row = lab.evaluate().json
    for value in (row["score"], row["per_L"]["4096"], row["vs_best"]["4096"]):
        assert value == pytest.approx(1.23456789, rel=1e-6)


def test_the_measured_commit_is_pinned(lab):
    commit = lab.commit(speedup=1.01)
    lab.evaluate("idea", "--apply")
    assert lab.git("rev-parse", "refs/mjolnir/oct11/2") == commit


def test_the_next_champion_is_the_newest_keep(lab):
    lab.commit(speedup=1.2)
    kept = lab.evaluate().json
    lab.commit(speedup=1.4)
    row = lab.evaluate().json
    assert row["best_before"] == pytest.approx(kept["score"])
    assert row["vs_best"]["128"] == pytest.approx(1.4 / 1.2)
    assert lab.rows()[-1]["champion_id"] == kept["id"]


def test_a_small_gain_is_discarded_and_the_command_back_is_named(lab):
    base = lab.head()
    lab.commit(speedup=1.01)
    said = lab.evaluate()
    assert (said.code, said.json["status"], said.json["rule"]) == (0, "discard", "gain_too_small")
    assert said.json["next"]["action"] == "reset"
    assert said.json["next"]["command"] == f"git reset --hard {base}"


def test_the_command_back_spares_other_edited_files(lab):
    base = lab.head()
    lab.commit(speedup=1.01)
    lab.write("research/program.md", "edited, not committed\n")
    assert lab.evaluate().json["next"]["command"] == f"git reset --keep {base}"


@pytest.mark.parametrize("outcome", ["measured", "incorrect", "crash", "E_STATE"])
def test_apply_goes_back_to_the_champion_and_leaves_other_changes_alone(lab, outcome):
    base = lab.head()
    lab.commit(speedup=0.9, outcome=outcome)
    edited = lab.write("research/program.md", "edited, not committed\n")
    said = lab.evaluate("idea", "--apply")
    assert said.code == 0
    assert (lab.head(), lab.branch()) == (base, "autoresearch/oct11")
    assert edited.read_text() == "edited, not committed\n"
    assert said.json["next"]["action"] == "continue"


def test_apply_never_moves_a_kept_or_a_noisy_commit(lab):
    lab.machine(unsteady="a busy core")
    commit = lab.commit(speedup=1.3)
    assert lab.evaluate("idea", "--apply").json["status"] == "noisy"
    assert lab.head() == commit
    lab.machine()
    assert lab.evaluate("idea", "--apply").json["status"] == "keep"
    assert lab.head() == commit


def test_apply_that_cannot_go_back_says_so_and_the_row_stands(lab):
    base = lab.head()
    lab.write("research/program.md", "new programme\n")
    lab.git("commit", "-qam", "programme")
    commit = lab.commit(speedup=1.0001)
    lab.write("research/program.md", "edited, not committed\n")
    said = lab.evaluate("idea", "--apply")
    assert (said.code, said.json["status"]) == (0, "discard")
    assert "stays where it is" in said.err
    assert lab.head() == commit
    assert said.json["next"]["command"] == f"git reset --keep {base}"


def test_a_wrong_answer_names_family_and_error(lab):
    lab.commit(outcome="incorrect", speedup=9.0)
    said = lab.evaluate()
    assert (said.code, said.json["status"], said.json["rule"]) == (0, "discard", "incorrect")
    assert (said.json["correctness"], said.json["score"]) == ("fail", None)
    assert "needle" in said.json["reason"]
    assert "0.5" in said.json["reason"]
    assert lab.rows()[-1]["judge"]["status"] == "discard"


def test_a_crash_keeps_the_log(lab):
    lab.commit(outcome="crash", extra='LOG = "line 1\\nSegmentation fault\\n"')
    said = lab.evaluate()
    assert (said.code, said.json["status"], said.json["rule"]) == (0, "crash", "stage_failed")
    assert "RuntimeError: boom" in said.json["reason"]
    assert "Segmentation fault" in (lab.root / said.json["log"]).read_text()
    assert said.json["next"]["action"] == "fix"
    assert any(said.json["log"] in note for note in said.json["notes"])


def test_a_syntax_error_is_a_crash(lab):
    lab.commit("def decode(:\n")
    said = lab.evaluate()
    assert (said.code, said.json["status"]) == (0, "crash")


def test_a_cheat_is_invalid_with_its_code(lab):
    lab.commit(outcome="E_STATE", speedup=50.0)
    said = lab.evaluate()
    assert (said.code, said.json["status"], said.json["rule"], said.json["codes"]) == (
        0,
        "invalid",
        "E_STATE",
        ["E_STATE"],
    )
    assert said.json["score"] is None
    lab.commit(speedup=1.2)
    assert lab.evaluate().json["vs_best"]["128"] == pytest.approx(1.2), "an invalid row is never champion"


def test_an_unsteady_measurement_is_noisy_and_may_be_repeated(lab):
    lab.machine(unsteady="other load took the CPU")
    lab.commit(speedup=1.2)
    first = lab.evaluate().json
    assert (first["status"], first["rule"]) == ("noisy", "reference_unstable")
    assert "other load" in first["reason"]
    assert first["next"]["action"] == "evaluate_again"
    assert first["next"]["command"].startswith("mjolnir autoresearch evaluate")
    lab.machine()
    second = lab.evaluate().json
    assert (second["status"], second["attempt"]) == ("keep", 2)


def test_a_reference_that_moved_is_set_aside_and_three_are_noisy(lab):
    lab.machine(reference={"128": 1.3})
    lab.commit(speedup=1.2)
    row = lab.evaluate().json
    assert (row["status"], row["set_aside"]) == ("keep", [128])
    lab.machine(reference={"128": 2.0, "1024": 2.0, "4096": 2.0})
    lab.commit(speedup=1.5)
    assert lab.evaluate().json["status"] == "noisy"


def test_a_subset_is_never_kept(lab):
    lab.commit(speedup=3.0)
    row = lab.evaluate("quick look", "--ls", "128 4K").json
    assert (row["status"], row["rule"]) == ("discard", "partial_sweep")
    assert set(row["per_L"]) == {"128", "4096"}


def test_a_stricter_min_gain_decides(lab):
    lab.commit(speedup=1.08)
    row = lab.evaluate("idea", "--min-gain", "0.1").json
    assert (row["status"], lab.rows()[-1]["min_gain"]) == ("discard", 0.1)


def test_more_calls_and_no_gate_reach_the_device_and_the_row(lab):
    lab.commit(speedup=1.2)
    row = lab.evaluate("idea", "--iters", "99", "--no-gate").json
    document = json.loads((lab.root / f"research/verify/sweep/{row['verify_runs']['sweep']}.json").read_text())
    assert (document["params"]["iters"], document["params"]["gate"], document["default"]) == (99, False, False)
    assert any("--no-gate" in note for note in row["notes"])


def test_run_documents_hold_the_seed_and_the_raw_series(lab):
    lab.commit(speedup=1.2)
    runs = lab.evaluate().json["verify_runs"]
    documents = {
        stage: json.loads((lab.root / f"research/verify/{stage}/{runs[stage]}.json").read_text())
        for stage in ("correctness", "sweep")
    }
    assert documents["correctness"]["cases"]
    assert documents["sweep"]["series"][0]["points"][0]["total_us"] == 64.0
    assert documents["sweep"]["params"]["seed"] == documents["correctness"]["params"]["seed"] > 0
    assert documents["sweep"]["params"]["origin"] == lab.head()


def test_every_evaluation_has_its_own_seed(lab):
    seeds = set()
    for speedup in (1.001, 1.002, 1.003):
        lab.commit(speedup=speedup)
        run_id = lab.evaluate().json["verify_runs"]["sweep"]
        seeds.add(json.loads((lab.root / f"research/verify/sweep/{run_id}.json").read_text())["params"]["seed"])
    assert len(seeds) == 3


def test_without_a_baseline_the_first_evaluation_is_it(research):
    research.started("oct11", "--no-baseline")
    assert research.rows() == []
    research.commit(speedup=1.1)
    assert research.evaluate("x", "--ls", "128").json["error"]["code"] == "E_CONFIG"
    row = research.evaluate("first").json
    assert (row["status"], row["id"], row["best_before"]) == ("baseline", 1, None)


def test_the_human_form_is_short_and_ends_with_what_to_type(lab):
    base = lab.head()
    lab.commit(speedup=1.01)
    said = lab.call("autoresearch", "evaluate", "-m", "a [bold]small[/bold] idea \x1b[31m")
    lines = said.out.rstrip("\n").splitlines()
    assert len(lines) <= 25
    assert lines[-1] == f"run:  git reset --hard {base}"
    assert any("DISCARD" in line for line in lines[-4:])
    assert "a [bold]small[/bold] idea" in said.out
    assert "\x1b" not in said.out


def test_a_kept_experiment_draws_the_chart(lab):
    chart = lab.root / "research/progress.png"
    chart.unlink(missing_ok=True)
    lab.commit(speedup=1.2)
    lab.evaluate()
    assert chart.read_bytes().startswith(b"\x89PNG")


def test_a_chart_that_cannot_be_drawn_costs_nothing(lab):
    chart = lab.root / "research/progress.png"
    chart.unlink(missing_ok=True)
    chart.mkdir()
    lab.commit(speedup=1.2)
    said = lab.evaluate()
    assert (said.code, said.json["status"]) == (0, "keep")


@pytest.mark.parametrize(
    "text",
    [
        "two\nlines\tand a tab",
        "[/=] [bold]markup[/bold] {braces}",
        "escapes \x1b[31mred\x1b[0m \x07 \u202e",
        "ünïcödé 速い 🚀",
        "-starts with a dash",
        "x" * 100_000,
    ],
    ids=["newlines", "markup", "escapes", "unicode", "dash", "long"],
)
def test_any_hypothesis_comes_back_as_it_went_in(lab, text):
    lab.commit(speedup=1.2)
    said = lab.call("autoresearch", "evaluate", f"--hypothesis={text}", "--json")
    assert said.code == 0, said.err
    assert lab.rows()[-1]["hypothesis"] == text
    assert lab.call("autoresearch", "ledger").code == 0
    assert len((lab.root / "research/ledger.tsv").read_text().splitlines()) == 3, "a header and one line a row"


def test_a_megabyte_with_nul_comes_through_a_pipe(lab):
    text = "a\0b " + "é" * 500_000
    lab.commit(speedup=1.2)
    process = lab.spawn("autoresearch", "evaluate", "-m", "-", "--json", stdin=subprocess.PIPE)
    out, err = process.communicate(text + "\n")
    assert process.returncode == 0, err
    assert json.loads(out)["status"] == "keep"
    assert lab.rows()[-1]["hypothesis"] == text


@pytest.mark.parametrize("text", ["", "  \n\t "])
def test_an_empty_hypothesis_is_wrong_use(lab, text):
    lab.commit(speedup=1.2)
    said = lab.evaluate(text)
    assert (said.code, said.json["error"]["code"]) == (2, "E_USAGE")
    assert len(lab.rows()) == 1


def test_bytes_that_are_no_utf8_do_not_stop_a_row(lab):
    lab.commit(speedup=1.2)
    said = lab.evaluate("caf\udce9")
    assert said.code == 0
    assert lab.rows()[-1]["hypothesis"] == "caf\ufffd"


def test_an_environment_fault_is_exit_2_without_a_row(lab):
    lab.commit(speedup=1.2)
    lab.machine(fault="no device answers")
    before = lab.state()
    said = lab.evaluate()
    assert (said.code, said.json["error"]["message"]) == (2, "no device answers")
    assert said.err.splitlines()[-2:] == ["error: no device answers", "hint: plug the device in"]
    assert lab.state() == before
    assert not lab.inflight.exists()


def test_an_error_in_json_is_exactly_one_object(lab):
    said = lab.evaluate()
    assert said.code == 4
    assert set(said.json) == {"schema", "error", "first"}
    assert set(said.json["error"]) == {"code", "message", "hint"}


def test_the_blob_of_the_commit_is_measured_whatever_the_work_tree_shows(lab):
    commit = lab.commit(speedup=1.2)
    lab.git("update-index", "--assume-unchanged", KERNEL)
    lab.write(KERNEL, kernel_text(speedup=99.0))
    said = lab.evaluate()
    assert (said.code, said.json["error"]["code"]) == (4, "E_DIRTY"), "no flag hides an edit"
    lab.write(KERNEL, kernel_text(speedup=1.2))
    assert lab.evaluate().json["commit_full"] == commit
