"""Ways to have git show other bytes than HEAD's commit holds: HEAD's bytes are measured, or it is refused."""

from __future__ import annotations

import shutil
import zlib

import pytest
from measured import CHEAT, HONEST, blob_id, committed_was_measured

from doubles.expectations import refused
from doubles.research import KERNEL, kernel_text

pytest_plugins = ("doubles.fixtures",)

CHEAT_TEXT = kernel_text(speedup=CHEAT)


def replace_commit(lab):
    honest = lab.commit(speedup=HONEST)
    lab.git("replace", honest, lab.commit(speedup=CHEAT))
    lab.git("reset", "-q", "--hard", honest)


def replace_tree(lab):
    honest = lab.commit(speedup=HONEST)
    cheat = lab.commit(speedup=CHEAT)
    lab.git("replace", *(lab.git("rev-parse", f"{commit}^{{tree}}") for commit in (honest, cheat)))
    lab.git("reset", "-q", "--hard", honest)


def replace_blob(lab):
    lab.commit(speedup=HONEST)
    lab.write("cheat.py", CHEAT_TEXT)
    lab.git("replace", blob_id(kernel_text(speedup=HONEST)), lab.git("hash-object", "-w", "cheat.py"))


def replace_in_packed_refs(lab):
    replace_blob(lab)
    lab.git("pack-refs", "--all")
    assert not list((lab.root / ".git/refs/replace").glob("*")), "it lies in packed-refs alone"


def graft(lab):
    base = lab.head()
    lab.commit(speedup=HONEST)
    (lab.root / ".git/info").mkdir(exist_ok=True)
    (lab.root / ".git/info/grafts").write_text(f"{lab.head()} {base}\n")


@pytest.mark.parametrize("attack", [replace_commit, replace_tree, replace_blob, replace_in_packed_refs, graft])
def test_replace_refs_and_grafts_of_any_kind_are_refused(lab, attack):
    attack(lab)
    refused(lab, "E_GIT_REPLACE")


def test_replace_refs_under_another_name_are_not_obeyed(lab, monkeypatch):
    lab.commit(speedup=HONEST)
    lab.write("cheat.py", CHEAT_TEXT)
    monkeypatch.setenv("GIT_REPLACE_REF_BASE", "refs/evil")
    lab.git("replace", blob_id(kernel_text(speedup=HONEST)), lab.git("hash-object", "-w", "cheat.py"))
    assert "99.0" in lab.git("cat-file", "blob", f"HEAD:{KERNEL}"), "git itself is fooled"
    committed_was_measured(lab)


def test_a_history_cut_off_by_a_shallow_file_is_refused(lab):
    lab.write("helper.py", "x = 1\n")
    lab.git("add", "helper.py")
    lab.git("commit", "-qm", "helper")
    hidden = lab.head()
    lab.commit(speedup=HONEST)
    (lab.root / ".git/shallow").write_text(f"{hidden}\n")
    refused(lab, "E_LINEAGE")


@pytest.mark.parametrize("place", ["loose", "alternate"])
def test_other_bytes_under_the_kernels_id_are_refused(lab, tmp_path, place):
    lab.commit(speedup=HONEST)
    name = blob_id(kernel_text(speedup=HONEST))
    loose = lab.root / ".git/objects" / name[:2] / name[2:]
    forged = loose if place == "loose" else tmp_path / "store" / name[:2] / name[2:]
    loose.unlink()
    forged.parent.mkdir(parents=True, exist_ok=True)
    forged.write_bytes(zlib.compress(b"blob %d\0" % len(CHEAT_TEXT) + CHEAT_TEXT.encode()))
    if place == "alternate":
        (lab.root / ".git/objects/info").mkdir(exist_ok=True)
        (lab.root / ".git/objects/info/alternates").write_text(f"{tmp_path / 'store'}\n")
    assert "99.0" in lab.git("cat-file", "blob", f"HEAD:{KERNEL}"), "git itself is fooled"
    refused(lab, "E_OBJECTS")


def test_an_honest_alternate_store_is_no_reason_to_refuse(lab, tmp_path):
    lab.commit(speedup=HONEST)
    shutil.move(lab.root / ".git/objects", tmp_path / "store")
    (lab.root / ".git/objects/info").mkdir(parents=True)
    (lab.root / ".git/objects/info/alternates").write_text(f"{tmp_path / 'store'}\n")
    committed_was_measured(lab)


def test_a_damaged_commit_graph_decides_nothing(lab):
    lab.commit(speedup=HONEST)
    lab.git("commit-graph", "write", "--reachable")
    graph = lab.root / ".git/objects/info/commit-graph"
    graph.chmod(0o644)
    graph.write_bytes(graph.read_bytes()[:-300] + bytes(300))
    committed_was_measured(lab)


def test_variables_that_point_git_elsewhere_are_not_obeyed(lab, tmp_path, monkeypatch):
    lab.commit(speedup=HONEST)
    other = tmp_path / "other"
    shutil.copytree(lab.root, other)
    (other / KERNEL).write_text(CHEAT_TEXT)
    for name, value in {
        "GIT_DIR": other / ".git",
        "GIT_WORK_TREE": other,
        "GIT_INDEX_FILE": other / ".git/index",
        "GIT_OBJECT_DIRECTORY": other / ".git/objects",
        "GIT_ALTERNATE_OBJECT_DIRECTORIES": other / ".git/objects",
        "GIT_GRAFT_FILE": other / "grafts",
        "GIT_SHALLOW_FILE": other / "shallow",
        "GIT_NAMESPACE": "evil",
        "GIT_CONFIG_PARAMETERS": f"'core.worktree={other}'",
    }.items():
        monkeypatch.setenv(name, str(value))
    committed_was_measured(lab)


def test_names_that_look_like_head_or_an_id_mislead_nobody(lab):
    base = lab.head()
    cheat = lab.commit(speedup=CHEAT)
    lab.git("reset", "-q", "--hard", base)
    honest = lab.commit(speedup=HONEST)
    for name in ("refs/tags/HEAD", "refs/heads/HEAD", f"refs/tags/{honest}", f"refs/heads/{base}", f"refs/{base}"):
        lab.git("update-ref", name, cheat)
    assert committed_was_measured(lab)["commit_full"] == honest


@pytest.mark.parametrize("flag", ["--skip-worktree", "--assume-unchanged"])
def test_no_flag_hides_another_kernel_in_the_work_tree(lab, flag):
    lab.commit(speedup=HONEST)
    lab.git("update-index", flag, KERNEL)
    lab.write(KERNEL, CHEAT_TEXT)
    assert lab.git("status", "--porcelain") == "", "git itself sees nothing"
    refused(lab, "E_DIRTY")


def test_a_kernel_changed_in_the_index_alone_is_refused(lab):
    lab.commit(speedup=HONEST)
    lab.write("cheat.py", CHEAT_TEXT)
    lab.git("update-index", "--cacheinfo", f"100644,{lab.git('hash-object', '-w', 'cheat.py')},{KERNEL}")
    refused(lab, "E_DIRTY")


def test_a_work_tree_elsewhere_is_never_measured(lab, tmp_path):
    lab.commit(speedup=HONEST)
    other = tmp_path / "other"
    (other / KERNEL).parent.mkdir(parents=True)
    (other / KERNEL).write_text(CHEAT_TEXT)
    lab.git("config", "core.worktree", str(other))
    said = lab.evaluate()
    assert said.code == 4, said.err
    assert len(lab.rows()) == 1
    assert not (other / "research").exists()


@pytest.mark.parametrize("harm", ["the same text", "another text", "the folder"])
def test_a_link_in_the_work_tree_is_refused(lab, tmp_path, harm):
    lab.commit(speedup=HONEST)
    kernel = lab.root / KERNEL
    other = tmp_path / "elsewhere"
    other.mkdir()
    (other / kernel.name).write_text(kernel_text(speedup=HONEST) if harm != "another text" else CHEAT_TEXT)
    if harm == "the folder":
        shutil.rmtree(kernel.parent)
        kernel.parent.symlink_to(other)
    else:
        kernel.unlink()
        kernel.symlink_to(other / kernel.name)
    refused(lab, "E_DIRTY")


def test_a_link_that_git_was_told_not_to_make_is_a_link(lab):
    lab.git("config", "core.symlinks", "false")
    lab.write(KERNEL, "../cheat.py")
    link = lab.git("hash-object", "-w", KERNEL)
    lab.git("update-index", "--cacheinfo", f"120000,{link},{KERNEL}")
    lab.git("commit", "-qm", "link")
    refused(lab, "E_NOT_REGULAR")


def test_a_kernel_that_is_a_submodule_is_refused(lab):
    head = lab.head()
    (lab.root / KERNEL).unlink()
    lab.git("update-index", "--cacheinfo", f"160000,{head},{KERNEL}")
    lab.git("commit", "-qm", "submodule")
    refused(lab, "E_NOT_REGULAR")


def test_a_submodule_beside_the_kernel_is_another_file_whatever_git_was_told_to_ignore(lab):
    lab.git("config", "diff.ignoreSubmodules", "all")
    lab.git("config", "submodule.vendor.ignore", "all")
    lab.git("update-index", "--add", "--cacheinfo", f"160000,{lab.head()},src/vendor")
    lab.commit(speedup=HONEST)
    assert "src/vendor" in refused(lab, "E_OTHER_FILES")["error"]["message"]


def test_an_executable_bit_that_git_was_told_not_to_see_is_refused_where_it_is_committed(lab):
    lab.git("config", "core.fileMode", "false")
    lab.commit(speedup=HONEST)
    (lab.root / KERNEL).chmod(0o755)
    committed_was_measured(lab)
    lab.git("update-index", "--chmod=+x", KERNEL)
    refused(lab, "E_DIRTY")
    lab.git("commit", "-qm", "executable")
    refused(lab, "E_NOT_REGULAR")


@pytest.mark.parametrize(
    "attributes", ["ident", "export-subst", "export-ignore", "working-tree-encoding=UTF-16", "-diff"]
)
def test_attributes_change_nothing_of_what_is_measured(lab, attributes):
    text = kernel_text(speedup=HONEST, extra="# $Id$ $Format:%H$")
    lab.commit(text)
    (lab.root / ".git/info").mkdir(exist_ok=True)
    (lab.root / ".git/info/attributes").write_text(f"*.py {attributes}\n")
    committed_was_measured(lab, text)
