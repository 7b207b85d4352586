"""What `evaluate` refuses before anything runs: exit 4, no row, a code, and a command that mends it."""

from __future__ import annotations

import pytest

from doubles.expectations import refused, type_hint
from doubles.research import KERNEL, kernel_text

pytest_plugins = ("doubles.fixtures",)


def test_the_same_commit_is_refused_with_the_first_row_as_the_answer(lab):
    lab.commit(speedup=1.01)
    first = lab.evaluate("small").json
    answer = refused(lab, "E_SAME_PROGRAM")
    assert answer["first"]["id"] == first["id"] == 2
    assert (answer["first"]["status"], answer["first"]["score"]) == ("discard", first["score"])
    assert "#2" in answer["error"]["message"]
    assert "--again" in answer["error"]["hint"]


def test_comments_layout_and_local_names_make_no_other_program(lab):
    lab.commit(speedup=1.2)
    lab.evaluate()
    text = kernel_text(speedup=1.2).replace("values", "numbers").replace("1.2", "1.2  # new, really")
    lab.commit(text + "\n\n# faster now\n")
    assert refused(lab, "E_SAME_PROGRAM")["first"]["status"] == "keep"


def test_the_champion_itself_is_the_same_program(lab):
    assert refused(lab, "E_SAME_PROGRAM")["first"]["status"] == "baseline"


def test_a_discarded_program_is_measured_once_more_on_request_and_never_a_third_time(lab):
    lab.commit(speedup=1.01)
    lab.evaluate()
    second = lab.evaluate("again", "--again")
    assert (second.code, second.json["attempt"], second.json["status"]) == (0, 2, "discard")
    assert refused(lab, "E_BUDGET", "--again")["first"]["id"] == 2
    assert refused(lab, "E_BUDGET")["first"]["id"] == 2


def test_a_second_measurement_may_be_kept_but_not_measured_a_third_time(lab):
    lab.machine(race_noise={str(tokens): [1.06] for tokens in (128, 1024, 4096, 16384)})
    lab.commit(speedup=1.06)
    assert lab.evaluate().json["rule"] == "not_confirmed"
    lab.machine()
    second = lab.evaluate("again", "--again").json
    assert (second["status"], second["attempt"]) == ("keep", 2)
    refused(lab, "E_BUDGET", "--again")


def test_a_wrong_program_is_never_measured_again(lab):
    lab.commit(outcome="incorrect")
    lab.evaluate()
    assert refused(lab, "E_SAME_PROGRAM", "--again")["first"]["rule"] == "incorrect"


def test_an_invalid_program_is_never_measured_again(lab):
    lab.commit(outcome="E_STATE")
    lab.evaluate()
    refused(lab, "E_SAME_PROGRAM", "--again")


def test_a_crash_may_be_the_machines_and_is_measured_once_more(lab):
    lab.commit(outcome="crash")
    lab.evaluate()
    refused(lab, "E_SAME_PROGRAM")
    assert lab.evaluate("again", "--again").json["attempt"] == 2


def test_noisy_measurements_do_not_use_up_the_budget(lab):
    lab.machine(unsteady="busy")
    lab.commit(speedup=1.01)
    assert [lab.evaluate().json["attempt"] for _ in range(3)] == [1, 2, 3]
    lab.machine()
    assert lab.evaluate().json["status"] == "discard"
    assert lab.evaluate("again", "--again").json["attempt"] == 5
    refused(lab, "E_BUDGET", "--again")


def test_an_uncommitted_kernel_is_refused(lab):
    lab.write(KERNEL, kernel_text(speedup=1.2))
    answer = refused(lab, "E_DIRTY")
    assert "git commit" in answer["error"]["hint"]


def test_a_staged_kernel_is_refused(lab):
    lab.write(KERNEL, kernel_text(speedup=1.2))
    lab.git("add", KERNEL)
    refused(lab, "E_DIRTY")


def test_a_deleted_kernel_in_the_work_tree_is_refused(lab):
    (lab.root / KERNEL).unlink()
    refused(lab, "E_DIRTY")


def test_other_uncommitted_files_do_not_matter(lab):
    lab.commit(speedup=1.2)
    lab.write("research/program.md", "edited\n")
    lab.write("notes.txt", "untracked\n")
    assert lab.evaluate().json["status"] == "keep"
    assert (lab.root / "research/program.md").read_text() == "edited\n"


@pytest.mark.parametrize(
    "path", ["helper.py", "src/kernel_helper.py", "opencode.json", ".opencode/agent/x.md", ".gitignore"]
)
def test_a_commit_that_touches_another_file_is_refused_and_names_it(lab, path):
    lab.write(path, "x = 1\n")
    lab.git("add", "-f", "--", path)
    lab.commit(speedup=1.2)
    answer = refused(lab, "E_OTHER_FILES")
    assert path in answer["error"]["message"]


def test_a_file_touched_and_put_back_is_still_in_the_history(lab):
    lab.write("helper.py", "x = 1\n")
    lab.git("add", "helper.py")
    lab.git("commit", "-qm", "helper")
    lab.git("rm", "-q", "helper.py")
    lab.git("commit", "-qm", "no helper")
    lab.commit(speedup=1.2)
    refused(lab, "E_OTHER_FILES")


def test_the_hint_for_another_file_mends_it(lab):
    lab.write("helper.py", "x = 1\n")
    lab.git("add", "helper.py")
    lab.commit(speedup=1.2)
    hint = refused(lab, "E_OTHER_FILES")["error"]["hint"]
    type_hint(lab, hint.partition(": ")[2])
    assert lab.evaluate().json["status"] == "keep"
    assert (lab.root / "helper.py").exists(), "the other change is still there, uncommitted"


def test_an_allowed_file_may_change_and_is_noted(lab):
    lab.write("research/program.md", "other goals\n")
    lab.git("commit", "-qam", "programme")
    lab.commit(speedup=1.2)
    row = lab.evaluate().json
    assert row["status"] == "keep"
    assert "research/program.md changed since the champion" in row["notes"]


def test_a_merge_that_brings_other_files_is_refused(lab):
    lab.git("switch", "-qc", "side", "main")
    lab.write("side.py", "x = 1\n")
    lab.git("add", "side.py")
    lab.git("commit", "-qm", "side")
    lab.git("switch", "-q", "autoresearch/oct11")
    lab.commit(speedup=1.2)
    lab.git("merge", "-q", "--no-edit", "side")
    refused(lab, "E_OTHER_FILES")


def test_a_detached_head_is_refused_with_the_branch_to_switch_to(lab):
    lab.git("switch", "-q", "--detach")
    assert "git switch autoresearch/oct11" in refused(lab, "E_LINEAGE")["error"]["hint"]


def test_another_branch_is_refused_with_the_branch_to_switch_to(lab):
    lab.git("switch", "-q", "main")
    assert "git switch autoresearch/oct11" in refused(lab, "E_RUN")["error"]["hint"]


def test_without_a_run_the_hint_is_init(research):
    assert "autoresearch init" in refused(research, "E_RUN")["error"]["hint"]


def test_a_branch_that_left_the_champion_behind_is_refused_and_the_hint_mends_it(lab):
    base = lab.head()
    champion = lab.commit(speedup=1.2)
    lab.evaluate()
    lab.git("reset", "-q", "--hard", base)
    lab.commit(speedup=1.5)
    hint = refused(lab, "E_LINEAGE")["error"]["hint"]
    assert champion in hint
    type_hint(lab, hint.partition(" (")[0])
    assert lab.evaluate().json["status"] == "keep"


def test_an_amended_champion_is_refused(lab):
    lab.commit(speedup=1.2)
    lab.evaluate()
    lab.write(KERNEL, kernel_text(speedup=1.5))
    lab.git("commit", "-qa", "--amend", "-m", "amended")
    refused(lab, "E_LINEAGE")
