"""History that was rewritten under a run: measured anew as what it is, or refused; the old row keeps what it says."""

from __future__ import annotations

from measured import CHEAT, HONEST, blob_id

from doubles.expectations import refused
from doubles.research import KERNEL, kernel_text

pytest_plugins = ("doubles.fixtures",)


def test_an_amended_experiment_is_another_one_and_the_old_row_keeps_its_commit(lab):
    first = lab.commit(speedup=1.01)
    lab.evaluate("small")
    old = lab.rows()[1]
    lab.write(KERNEL, kernel_text(speedup=HONEST))
    lab.git("commit", "-qa", "--amend", "-m", "amended")
    answer = lab.evaluate("amended").json
    assert (answer["id"], answer["status"]) == (3, "keep")
    assert lab.rows()[1] == old
    assert old["kernel_blob"] == blob_id(kernel_text(speedup=1.01))
    assert lab.rows()[2]["kernel_blob"] == blob_id(kernel_text(speedup=HONEST))
    lab.git("reflog", "expire", "--expire=now", "--all")
    lab.git("gc", "-q", "--prune=now")
    assert lab.git("rev-parse", "refs/mjolnir/oct11/2") == first
    assert "+SPEEDUP = 1.01" in lab.call("autoresearch", "show", "2", "--diff").out


def test_an_amended_message_is_the_same_program(lab):
    lab.commit(speedup=1.01)
    lab.evaluate("small")
    lab.git("commit", "-q", "--amend", "-m", "other words")
    assert refused(lab, "E_SAME_PROGRAM")["first"]["id"] == 2


def test_a_branch_forced_to_a_commit_without_parents_is_refused(lab):
    lab.commit(speedup=HONEST)
    orphan = lab.git("commit-tree", "-m", "orphan", "HEAD^{tree}")
    lab.git("update-ref", "refs/heads/autoresearch/oct11", orphan)
    refused(lab, "E_LINEAGE")


def test_a_branch_forced_back_behind_the_champion_is_refused(lab):
    base = lab.head()
    lab.commit(speedup=HONEST)
    lab.evaluate()
    lab.git("checkout", "-q", "-B", "autoresearch/oct11", base)
    lab.commit(speedup=CHEAT)
    refused(lab, "E_LINEAGE")


def test_a_branch_forced_onto_a_history_with_other_files_is_refused(lab):
    lab.git("switch", "-qc", "side")
    lab.write("src/helper.py", "SPEEDUP = 99.0\n")
    lab.git("add", "src/helper.py")
    lab.git("commit", "-qm", "helper")
    side = lab.commit(speedup=HONEST)
    lab.git("switch", "-qC", "autoresearch/oct11", side)
    assert "src/helper.py" in refused(lab, "E_OTHER_FILES")["error"]["message"]


def test_a_branch_that_is_another_name_for_a_foreign_branch_is_no_runs(lab):
    lab.git("branch", "side")
    lab.git("symbolic-ref", "refs/heads/autoresearch/oct11", "refs/heads/side")
    lab.commit(speedup=HONEST)
    refused(lab, "E_RUN")


def test_a_champion_whose_commit_was_purged_is_refused(lab):
    base = lab.head()
    champion = lab.commit(speedup=HONEST)
    lab.evaluate()
    lab.git("reset", "-q", "--hard", base)
    lab.git("update-ref", "-d", "refs/mjolnir/oct11/2")
    lab.git("reflog", "expire", "--expire=now", "--all")
    lab.git("gc", "-q", "--prune=now")
    assert lab.git("cat-file", "-t", champion, check=False) == ""
    lab.commit(speedup=CHEAT)
    assert "gone" in refused(lab, "E_LINEAGE")["error"]["message"]


def test_pins_forced_elsewhere_do_not_move_the_champion(lab):
    base = lab.head()
    lab.commit(speedup=HONEST)
    lab.evaluate()
    lab.git("update-ref", "refs/mjolnir/oct11/2", base)
    lab.git("reset", "-q", "--hard", base)
    lab.commit(speedup=1.15)
    refused(lab, "E_LINEAGE")


def test_a_helper_module_is_refused_committed_or_not(lab):
    lab.write("src/helper.py", "def hook():\n    pass\n")
    lab.commit("import helper\n" + kernel_text(speedup=HONEST))
    assert "line 1" in refused(lab, "E_IMPORT")["error"]["message"]
    lab.git("add", "-f", "src/helper.py")
    lab.git("commit", "-qm", "helper")
    assert "src/helper.py" in refused(lab, "E_OTHER_FILES")["error"]["message"]


def test_a_helper_named_like_an_allowed_module_is_refused_where_it_is_committed(lab):
    lab.write("src/numpy.py", "array = list\n")
    lab.git("add", "-f", "src/numpy.py")
    lab.commit(speedup=HONEST)
    assert "src/numpy.py" in refused(lab, "E_OTHER_FILES")["error"]["message"]


def test_a_file_hidden_between_two_merges_is_found(lab):
    base = lab.head()
    lab.write("src/helper.py", "x = 1\n")
    lab.git("add", "src/helper.py")
    lab.git("commit", "-qm", "helper")
    hidden = lab.head()
    lab.git("reset", "-q", "--hard", base)
    lab.commit(speedup=HONEST)
    lab.git("merge", "-q", "--no-edit", "-s", "ours", hidden)
    assert lab.git("diff", "--name-only", base, "HEAD") == KERNEL, "end to end nothing shows"
    refused(lab, "E_OTHER_FILES")


def test_a_file_that_only_a_merge_brings_and_another_takes_away_is_found(lab):
    base = lab.head()
    other = lab.git("commit-tree", "-m", "nothing", "-p", base, f"{base}^{{tree}}")
    lab.write("src/helper.py", "x = 1\n")
    lab.git("add", "src/helper.py")
    lab.git("reset", "-q", "--hard", merge(lab, base, other))
    kernel = lab.commit(speedup=HONEST)
    lab.git("rm", "-q", "--cached", "src/helper.py")
    lab.git("reset", "-q", "--hard", merge(lab, kernel, other))
    assert lab.git("diff", "--name-only", base, "HEAD") == KERNEL, "end to end nothing shows"
    assert "helper" not in lab.git("log", "--name-only", f"{base}..HEAD"), "nor in any commit that is no merge"
    refused(lab, "E_OTHER_FILES")


def merge(lab, one, other):
    """A merge commit of both whose files are the index's."""
    return lab.git("commit-tree", "-m", "merge", "-p", one, "-p", other, lab.git("write-tree"))
