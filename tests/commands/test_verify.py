"""The `verify` commands: the work tree's kernel measured for its author, on the scripted target."""

from __future__ import annotations

import json

import pytest

from doubles.research import KERNEL, kernel_text

pytest_plugins = ("doubles.fixtures",)


def documents(research):
    return sorted(path.relative_to(research.root).as_posix() for path in research.root.glob("research/verify/*/*.json"))


def test_the_first_line_says_that_the_work_tree_is_checked(research):
    research.write(KERNEL, kernel_text(speedup=2.0))
    said = research.call("verify", "correctness")
    assert said.code == 0, said.err
    first, *rest = said.out.splitlines()
    assert f"{KERNEL} of the work tree" in first
    assert "nothing reaches the ledger" in first
    assert any(line.startswith("needle") and "1/1" in line for line in rest)
    assert not research.ledger.exists()


def test_correctness_answers_in_json_and_saves_its_document(research):
    said = research.call("verify", "correctness", "--quick", "--json")
    assert said.json["schema"] == "mjolnir.correctness/1"
    assert (said.json["passed"], "error" in said.json) == (True, False)
    assert {"family", "case", "passed", "unsupported", "error", "limit"} <= set(said.json["cases"][0])
    (path,) = documents(research)
    document = json.loads((research.root / path).read_text())
    assert (document["schema"], document["stage"], document["default"]) == ("mjolnir.verify/1", "correctness", False)
    assert document["params"]["seed"] == said.json["seed"]
    assert document["params"]["origin"] == "work tree"


def test_a_wrong_kernel_is_exit_1_with_its_failures(research):
    research.write(KERNEL, kernel_text(outcome="incorrect"))
    said = research.call("verify", "correctness", "--json")
    assert (said.code, said.json["error"]["code"], said.json["passed"]) == (1, "incorrect", False)
    assert [case["family"] for case in said.json["cases"] if not case["passed"]] == ["needle"]
    human = research.call("verify", "correctness")
    assert (human.code, "FAILED" in human.out, "error: correctness failed at needle" in human.err) == (1, True, True)
    assert len(documents(research)) == 2


@pytest.mark.parametrize(("outcome", "code"), [("crash", "crash"), ("E_STATE", "E_STATE")])
def test_a_crash_or_a_finding_is_exit_1_and_explained(research, outcome, code):
    research.write(KERNEL, kernel_text(outcome=outcome))
    said = research.call("verify", "correctness", "--json")
    assert (said.code, said.json["error"]["code"]) == (1, code)
    assert research.call("explain", code).code == 0


def test_a_kernel_that_does_not_parse_is_exit_1_with_a_document(research):
    research.write(KERNEL, "def decode(:\n")
    for stage in ("correctness", "sweep"):
        said = research.call("verify", stage, "--json")
        assert (said.code, said.json["error"]["code"], said.json["cases"]) == (1, "crash", [])
    assert len(documents(research)) == 2


def test_cases_are_chosen_by_name_and_dtype(research):
    said = research.call("verify", "correctness", "--match", "needle", "--dtypes", "fp8 bf16", "--json")
    assert [case["family"] for case in said.json["cases"]] == ["needle"]
    document = json.loads((research.root / documents(research)[0]).read_text())
    assert document["params"]["q_dtypes"] == ["fp8_e4m3", "bf16"]


@pytest.mark.parametrize(
    "words",
    [("--match", "no such case"), ("--dtypes", "int4"), ("--timeout", "0"), ("--target", "nowhere"), ("--nonsense",)],
    ids=lambda words: words[0],
)
def test_a_check_that_makes_no_sense_is_exit_2(research, words):
    said = research.call("verify", "correctness", *words, "--json")
    assert (said.code, set(said.json)) == (2, {"schema", "error"})
    assert documents(research) == []


def test_a_sweep_times_every_length_and_is_the_run_document(research):
    research.write(KERNEL, kernel_text(speedup=2.0))
    said = research.call("verify", "sweep", "--json")
    assert (said.code, said.json["schema"], said.json["stage"]) == (0, "mjolnir.verify/1", "sweep")
    by_role = {series["role"]: series["points"] for series in said.json["series"]}
    assert [point["L"] for point in by_role["candidate"]] == [128, 1024, 4096, 16384]
    assert by_role["reference"][0]["total_us"] == 2 * by_role["candidate"][0]["total_us"]
    (path,) = documents(research)
    assert path.endswith(f"{said.json['run_id']}.json")
    assert json.loads((research.root / path).read_text())["series"] == said.json["series"]


def test_a_sweep_of_other_lengths_unsaved(research):
    said = research.call("verify", "sweep", "--ls", "64 2K", "--iters", "7", "--no-gate", "--no-save", "--json")
    assert said.json["params"]["lengths"] == [64, 2048]
    assert (said.json["params"]["iters"], said.json["params"]["gate"], said.json["run_id"]) == (7, False, None)
    assert documents(research) == []


def test_a_sweep_for_people_has_one_line_a_length(research):
    said = research.call("verify", "sweep")
    assert "of the work tree" in said.out.splitlines()[0]
    assert any(line.split()[:1] == ["16K"] for line in said.out.splitlines())


def test_a_dry_run_measures_nothing(research):
    research.machine(fault="the device would have been asked")
    said = research.call("verify", "sweep", "--dry-run", "--ls", "128 4K")
    assert (said.code, "128, 4K" in said.out) == (0, True)
    assert research.call("verify", "sweep", "--dry-run", "--json").json["params"]["lengths"] == [128, 1024, 4096, 16384]
    assert documents(research) == []


def test_a_busy_machine_is_said_and_no_failure_of_the_kernel(research):
    research.machine(unsteady="other load took the CPU")
    said = research.call("verify", "sweep")
    assert (said.code, "other load took the CPU" in said.err) == (0, True)


@pytest.mark.parametrize("stage", ["correctness", "sweep"])
def test_an_environment_fault_is_exit_2_and_saves_nothing(research, stage):
    research.machine(fault="no device answers")
    said = research.call("verify", stage, "--json")
    assert (said.code, said.json["error"]["message"]) == (2, "no device answers")
    assert documents(research) == []


@pytest.mark.parametrize("stage", ["correctness", "sweep"])
def test_a_kernel_file_that_is_none_is_refused(research, stage):
    path = research.root / KERNEL
    path.write_text("#" * 10_000_000)
    assert research.call("verify", stage, "--json").json["error"]["code"] == "E_NOT_REGULAR"
    path.unlink()
    assert research.call("verify", stage).code == 4
    path.symlink_to("../mjolnir.toml")
    assert research.call("verify", stage).code == 4
    path.unlink()
    path.mkdir()
    assert research.call("verify", stage).code == 4


@pytest.mark.parametrize("text", ["", "\0\1\2\xff" * 50])
def test_an_empty_or_binary_kernel_is_no_traceback(research, text):
    research.write(KERNEL, text)
    assert research.call("verify", "correctness").code in (0, 1)


def test_a_forbidden_import_is_refused_with_its_line(research):
    research.write(KERNEL, "import math\nimport socket\n")
    said = research.call("verify", "sweep", "--json")
    assert (said.code, said.json["error"]["code"], "line 2" in said.json["error"]["message"]) == (4, "E_IMPORT", True)


def test_saved_documents_are_listed_and_shown(research):
    assert research.call("verify", "show").code == 2
    assert research.call("verify", "list", "--json").json == {"schema": "mjolnir.verify-list/1", "documents": []}
    research.call("verify", "correctness")
    sweep = research.call("verify", "sweep", "--json").json
    listed = research.call("verify", "list", "--json").json["documents"]
    assert [d["stage"] for d in listed] == ["correctness", "sweep"]
    assert documents(research) == sorted(d["path"] for d in listed)
    assert research.call("verify", "show", "sweep", "--json").json["run_id"] == sweep["run_id"]
    assert research.call("verify", "show", "correctness", "--json").json["stage"] == "correctness"
    assert "needle" in research.call("verify", "show", "correctness").out
    assert "16K" in research.call("verify", "show", "sweep").out
    assert "2 run documents" in research.call("verify", "list").out
    assert research.call("verify", "show", "nonsense").code == 2


def test_a_damaged_document_is_two_lines(research):
    research.call("verify", "sweep")
    (path,) = documents(research)
    (research.root / path).write_text("{")
    said = research.call("verify", "show", "--json")
    assert (said.code, said.json["error"]["code"]) == (4, "E_DOCUMENT")


def test_documents_of_evaluate_are_listed_too_and_never_taken_as_a_measurement(research):
    research.started()
    research.write(KERNEL, kernel_text(speedup=3.0))
    research.call("verify", "sweep")
    research.write(KERNEL, kernel_text())
    research.commit(speedup=1.01)
    assert research.evaluate().json["score"] == pytest.approx(1.01)
    assert len(documents(research)) == 5
