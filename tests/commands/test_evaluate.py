"""`mjolnir autoresearch evaluate`: verdicts, rows, answers and exit codes, on the scripted target."""

from __future__ import annotations

import json

import pytest

from doubles.research import KERNEL

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
    *(
        "judge",
        "screen",
        "ab",
        "confirm",
        "attempt",
        "harness_hash",
        "config_hash",
        "seconds",
        "codes",
        "profile",
        "prev",
        "hash",
    ),
}


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
    assert row["params"]["rule"] == "confirmed"
    assert (row["params"]["min_gain"], row["params"]["noise"], row["params"]["reference_jump"]) == (0.05, 0.03, 0.15)
    assert row["judge"]["status"] == "keep"
    assert set(row["seconds"]) == {"queue", "correctness", "sweep", "confirm", "total"}


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
    assert (row["status"], row["set_aside"]) == ("keep", []), "the confirmation looks at every L"
    assert lab.rows()[-1]["screen"]["set_aside"] == [128]
    lab.machine(reference={"128": 2.0, "1024": 0.5, "4096": 3.0})
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
