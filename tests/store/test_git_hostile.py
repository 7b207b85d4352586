"""A repository whose configuration, objects, flags and links were arranged to deceive or to run something."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import zlib

import pytest
from repository import KERNEL, Repository

from mjolnir.errors import Refused


def code_and_text(call, *args):
    with pytest.raises(Refused) as refusal:
        call(*args)
    assert refusal.value.hint
    return refusal.value.code, refusal.value.message


@pytest.fixture
def trap(repo: Repository):
    """Every way to have git run a program, all set to leave a mark. Returns the mark's path."""
    mark = repo.root.parent / "mark"
    script = repo.root.parent / "trap.sh"
    script.write_text(f'#!/bin/sh\necho "$0 $@" >> "{mark}"\ncat\n')
    script.chmod(0o755)
    hooks = repo.root.parent / "hooks"
    hooks.mkdir()
    names = "pre-commit commit-msg post-commit post-checkout post-index-change reference-transaction pre-auto-gc"
    for place in (hooks, repo.root / ".git" / "hooks"):
        place.mkdir(exist_ok=True)
        for name in names.split():
            (place / name).write_text(script.read_text())
            (place / name).chmod(0o755)
    run = str(script).replace(" ", "\\ ")
    for key, value in {
        "core.fsmonitor": run,
        "core.hooksPath": str(hooks),
        "core.pager": run,
        "core.editor": run,
        "core.sshCommand": run,
        "core.askPass": run,
        "diff.external": run,
        "diff.evil.command": run,
        "diff.evil.textconv": run,
        "filter.evil.clean": run,
        "filter.evil.smudge": run,
        "filter.evil.required": "true",
        "filter.a=b.c.process": run,
        "gpg.program": run,
        "commit.gpgSign": "true",
        "log.showSignature": "true",
        "gc.auto": "1",
        "credential.helper": f"!{run}",
        "remote.origin.url": f"ext::{run}",
        "remote.origin.promisor": "true",
        "protocol.ext.allow": "always",
        "extensions.partialClone": "origin",
    }.items():
        repo.run("config", key, value)
    (repo.root / ".git" / "info" / "attributes").write_text("*.py diff=evil\n*.py filter=evil\n*.md filter=a=b.c\n")
    return mark


def test_no_configured_program_is_ever_run(repo, trap, monkeypatch):
    for name in ("GIT_EXTERNAL_DIFF", "GIT_PAGER", "GIT_EDITOR", "GIT_SSH_COMMAND", "GIT_ASKPASS", "PAGER", "EDITOR"):
        monkeypatch.setenv(name, str(repo.root.parent / "trap.sh"))
    first = repo.git.head()
    (repo.root / KERNEL).write_bytes(b"two\n")
    (repo.root / "README.md").write_bytes(b"two\n")
    git = repo.git
    assert git.is_dirty(KERNEL)
    assert set(git.dirty_paths()) == {KERNEL, "README.md"}
    second = git.commit("second", [KERNEL, "README.md"])
    assert git.dirty_paths() == ()
    assert git.read_blob(second, KERNEL).data == b"two\n"
    assert "+two" in git.diff(first, second, KERNEL)
    assert git.changed_paths(first, second) == ("README.md", KERNEL)
    git.create_branch("autoresearch/oct11", second)
    git.pin("oct11", 1, second)
    git.reset_keep(first)
    assert (repo.root / KERNEL).read_bytes() == b"one\n"
    assert git.subject(second) == "second"
    assert git.parent(second) == first
    assert git.is_ancestor(first, second)
    assert not git.has_replace_refs()
    assert git.resolve("f" * 40) is None
    with pytest.raises(Refused):
        git.read_blob("f" * 40, KERNEL)
    git.create_branch("autoresearch/nov2", first)
    git.switch("autoresearch/oct11")
    git.delete_branch("autoresearch/nov2")
    git.unpin("oct11")
    assert not trap.exists(), trap.read_text()
    subprocess.run(["git", "status"], cwd=repo.root, capture_output=True)
    assert trap.exists(), "git itself walks into the trap"


def test_a_switch_that_would_need_a_filter_is_refused(repo, trap):
    repo.run("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "branch", "old")
    (repo.root / KERNEL).write_bytes(b"two\n")
    repo.git.commit("second", [KERNEL])
    code, text = code_and_text(repo.git.create_branch, "autoresearch/oct11", "old")
    assert code == "E_FILTER"
    assert KERNEL in text
    assert (repo.root / KERNEL).read_bytes() == b"two\n"


def test_variables_that_point_git_elsewhere_are_ignored(repo, tmp_path, monkeypatch):
    other = Repository(tmp_path / "other")
    other.root.mkdir()
    other.run("init", "-q")
    head = repo.git.head()
    monkeypatch.setenv("GIT_DIR", str(other.root / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other.root))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "no index"))
    monkeypatch.setenv("GIT_OBJECT_DIRECTORY", str(tmp_path))
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "core.worktree")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", str(other.root))
    git = repo.git
    assert git.root == repo.root
    assert git.head() == head
    assert not git.is_dirty(KERNEL)


def test_the_blob_at_a_commit_is_not_the_work_trees(repo):
    (repo.root / KERNEL).write_text("uncommitted\n")
    blob = repo.git.read_blob(repo.git.head(), KERNEL)
    assert (blob.data, blob.mode) == (b"one\n", "100644")
    assert blob.sha == repo.run("rev-parse", f"HEAD:{KERNEL}")


def test_names_beyond_ascii_are_read(repo):
    assert repo.git.read_blob(repo.git.head(), "a dir/ünïcode näme.txt").data == b"x\n"


@pytest.mark.parametrize(
    "data", [b"", b"\x00\xff\n\n\x00", b"no newline", b"x" * 2**20], ids=["empty", "binary", "ragged", "1MB"]
)
def test_any_bytes_up_to_a_megabyte_are_read(repo, data):
    assert repo.git.read_blob(repo.commit({KERNEL: data}), KERNEL).data == data


def test_what_is_no_plain_file_is_refused_by_its_kind(repo):
    git = repo.git
    kernel = repo.root / KERNEL
    cases = []

    def commit_as(kind):
        repo.run("add", "-A", "src")
        repo.run("commit", "-q", "-m", kind)
        cases.append((kind, repo.git.head()))

    kernel.chmod(0o755)
    commit_as("an executable file")
    kernel.unlink()
    kernel.symlink_to("../../README.md")
    commit_as("a symbolic link")
    kernel.unlink()
    repo.write(f"{KERNEL}/inner.py", "x")
    commit_as("a folder")
    repo.run("rm", "-q", "-r", KERNEL)
    repo.run("update-index", "--add", "--cacheinfo", f"160000,{git.head()},{KERNEL}")
    repo.run("commit", "-q", "-m", "a submodule")
    cases.append(("a submodule", repo.git.head()))
    repo.run("rm", "-q", "-r", "--cached", KERNEL)
    repo.run("commit", "-q", "--allow-empty", "-m", "does not exist")
    cases.append(("does not exist", repo.git.head()))
    repo.write("elsewhere/cpu_decode.py", "x")
    shutil.rmtree(repo.root / "src", ignore_errors=True)
    (repo.root / "src").mkdir()
    (repo.root / "src" / "mjolnir_kernel").symlink_to("../elsewhere")
    commit_as("src/mjolnir_kernel is a symbolic link")
    for kind, commit in cases:
        code, text = code_and_text(git.read_blob, commit, KERNEL)
        assert code == "E_NOT_REGULAR"
        assert kind in text, (kind, text)
    big = repo.commit({"big.py": b"x" * (2**20 + 1)})
    code, text = code_and_text(git.read_blob, big, "big.py")
    assert code == "E_NOT_REGULAR"
    assert "1,048,577 bytes" in text
    assert code_and_text(git.read_blob, big, "a\nb")[0] == "E_NOT_REGULAR"


def test_replace_refs_and_grafts_are_seen_and_not_obeyed(repo):
    first = repo.git.head()
    second = repo.commit({KERNEL: "two\n"})
    assert not repo.git.has_replace_refs()
    repo.run("replace", repo.run("rev-parse", f"{first}:{KERNEL}"), repo.run("rev-parse", f"{second}:{KERNEL}"))
    assert repo.git.has_replace_refs()
    assert repo.git.read_blob(first, KERNEL).data == b"one\n"
    repo.run("replace", "-d", repo.run("rev-parse", f"{first}:{KERNEL}"))
    third = repo.commit({KERNEL: "three\n", "evil.py": "x"})
    (repo.root / ".git" / "info" / "grafts").write_text(f"{third} {first}\n")
    assert repo.git.has_replace_refs()
    assert repo.git.parent(third) == second
    assert repo.git.is_ancestor(second, third)


def overwrite_object(repo, oid, kind, data):
    """Other bytes under the name of an object that exists."""
    path = repo.root / ".git" / "objects" / oid[:2] / oid[2:]
    path.chmod(0o644)
    path.write_bytes(zlib.compress(f"{kind} {len(data)}\0".encode() + data))


@pytest.mark.parametrize("kind", ["blob", "tree", "commit"])
def test_an_object_that_does_not_hash_to_its_name_is_refused(repo, kind):
    first = repo.git.head()
    other = repo.commit({KERNEL: "faster and wrong\n"})
    if kind == "blob":
        overwrite_object(repo, repo.run("rev-parse", f"{first}:{KERNEL}"), "blob", b"faster and wrong\n")
    elif kind == "tree":
        folder = KERNEL.rpartition("/")[0]
        oid = repo.run("rev-parse", f"{other}:{KERNEL}")
        data = b"100644 cpu_decode.py\0" + bytes.fromhex(oid)
        overwrite_object(repo, repo.run("rev-parse", f"{first}:{folder}"), "tree", data)
    else:
        text = repo.run("cat-file", "commit", other) + "\n"
        overwrite_object(repo, first, "commit", text.encode())
    code, text = code_and_text(repo.git.read_blob, first, KERNEL)
    assert code == "E_OBJECTS"
    assert kind in text


def test_the_id_of_a_blob_is_gits(repo):
    data = b"one\n"
    digest = hashlib.sha1(b"blob 4\0" + data).hexdigest()
    assert repo.git.read_blob(repo.git.head(), KERNEL).sha == digest
