"""`mjolnir new` from outside: what it makes, what it refuses, and that a failure leaves nothing behind."""

import os
import subprocess
import sys

import pytest

from mjolnir.config import TARGET_DEFAULTS, read_config
from mjolnir.core.program_hash import program_hash
from mjolnir.errors import Refused
from mjolnir.loop.scaffold import kernel_template, make_research_repository
from mjolnir.store.git import Git

FILES = {".gitignore", "README.md", "mjolnir.toml", "research/program.md", "src/mjolnir_kernel/cpu_decode.py"}


def git(folder, *words):
    return subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, text=True).stdout


def tree_of(folder):
    return sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*"))


def test_a_new_repository_has_one_clean_commit_on_main_with_exactly_the_scaffold(mjolnir, tmp_path):
    answer = mjolnir("new", "lab", cwd=tmp_path)
    lab = tmp_path / "lab"
    assert answer.code == 0
    assert set(git(lab, "ls-files").split()) == FILES
    assert git(lab, "symbolic-ref", "HEAD").strip() == "refs/heads/main"
    assert git(lab, "rev-list", "--count", "HEAD").strip() == "1"
    assert git(lab, "status", "--porcelain", "--ignored") == ""


def test_the_answer_ends_with_the_commands_to_type_next(mjolnir, tmp_path):
    lines = mjolnir("new", "my lab", cwd=tmp_path).out.splitlines()
    assert lines[-3:] == ["  cd 'my lab'", "  mjolnir doctor", "  mjolnir autoresearch init first"]


def test_the_configuration_says_the_defaults_of_the_target(tmp_path):
    made = make_research_repository(tmp_path / "lab")
    config = read_config(made.root)
    assert config.run.target == "cpu"
    assert config.targets["cpu"] == TARGET_DEFAULTS["cpu"]


def test_the_kernel_is_the_packages_own_starting_kernel(tmp_path):
    made = make_research_repository(tmp_path / "lab")
    text = (made.root / "src/mjolnir_kernel/cpu_decode.py").read_bytes()
    assert program_hash(text) == program_hash(kernel_template("cpu_decode.py").encode())


def test_lengths_and_worker_pairs_can_be_chosen(tmp_path):
    made = make_research_repository(tmp_path / "lab", lengths_tokens=(128, 1024), worker_pairs=1)
    section = read_config(made.root).targets["cpu"]
    assert (section.lengths, section.worker_pairs) == ((128, 1024), 1)


@pytest.mark.parametrize(
    "name", ["research/ledger.jsonl", "research/.inflight.json", "research/progress-dark.png", "research/verify/x.json"]
)
def test_the_notebook_of_a_run_is_ignored_by_git(tmp_path, name):
    root = make_research_repository(tmp_path / "lab").root
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_text("x")
    assert git(root, "status", "--porcelain") == ""


def test_exported_runs_are_not_ignored(tmp_path):
    root = make_research_repository(tmp_path / "lab").root
    (root / "research/runs/first").mkdir(parents=True)
    (root / "research/runs/first/ledger.jsonl").write_text("x")
    assert git(root, "status", "--porcelain").strip() == "?? research/runs/"


@pytest.mark.parametrize("name", ["two words", "größe Ω 実験", "-dash"])
def test_folders_with_odd_names_work(mjolnir, tmp_path, name):
    assert mjolnir("new", "--", name, cwd=tmp_path).code == 0
    assert set(git(tmp_path / name, "ls-files").split()) == FILES


def test_missing_parents_are_made(mjolnir, tmp_path):
    assert mjolnir("new", "a/b/lab", cwd=tmp_path).code == 0
    assert (tmp_path / "a/b/lab/mjolnir.toml").is_file()


def test_an_empty_folder_is_filled_even_when_it_is_the_current_one(mjolnir, tmp_path):
    assert mjolnir("new", ".", cwd=tmp_path).code == 0
    assert (tmp_path / "mjolnir.toml").is_file()


def test_a_folder_with_something_in_it_is_refused_and_left_alone(mjolnir, tmp_path):
    (tmp_path / "lab").mkdir()
    (tmp_path / "lab" / "thesis.txt").write_text("mine")
    answer = mjolnir("new", "lab", cwd=tmp_path)
    assert answer.code == 4
    assert "is not empty" in answer.err
    assert answer.err.count("\n") == 2
    assert tree_of(tmp_path) == ["lab", "lab/thesis.txt"]


def test_a_file_in_the_place_is_refused(mjolnir, tmp_path):
    (tmp_path / "lab").write_text("mine")
    assert mjolnir("new", "lab", cwd=tmp_path).code == 4
    assert mjolnir("new", "lab/inner", cwd=tmp_path).code == 4
    assert (tmp_path / "lab").read_text() == "mine"


@pytest.mark.parametrize("place", ["inner", "deep/inner", ".git/inner"])
def test_a_place_inside_another_repository_is_refused(mjolnir, tmp_path, place):
    git(tmp_path, "init", "-q")
    before = tree_of(tmp_path)
    answer = mjolnir("new", place, cwd=tmp_path)
    assert answer.code == 4
    assert "inside another git repository" in answer.err
    assert tree_of(tmp_path) == before


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is unwritable to root")
def test_a_folder_that_cannot_be_written_is_refused(mjolnir, tmp_path):
    tmp_path.chmod(0o555)
    try:
        answer = mjolnir("new", "lab", cwd=tmp_path)
    finally:
        tmp_path.chmod(0o755)
    assert answer.code == 4
    assert "cannot be written" in answer.err


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is a folder in which nobody can make one")
def test_a_place_where_the_system_makes_no_folder_is_refused(mjolnir, tmp_path):
    answer = mjolnir("new", "/proc/lab", cwd=tmp_path)
    assert answer.code == 4
    assert answer.err.startswith("error: /proc/lab could not be written")


def test_another_target_is_an_error_that_lists_what_there_is(mjolnir, tmp_path):
    answer = mjolnir("new", "lab", "--target", "abacus", cwd=tmp_path)
    assert answer.code == 2
    assert "no starting kernel for the target 'abacus'" in answer.err
    assert "choose one of: cpu, cuda, thor" in answer.err
    assert tree_of(tmp_path) == []


@pytest.mark.parametrize("target", ["thor", "cuda"])
def test_a_gpu_target_gets_the_triton_kernel_and_words_of_its_own(mjolnir, tmp_path, target):
    answer = mjolnir("new", "lab", "--target", target, cwd=tmp_path)
    assert answer.code == 0, answer
    assert f"no target '{target}' is installed here" in answer.err
    assert "import triton" in (tmp_path / "lab/src/mjolnir_kernel/t5_decode.py").read_text()
    config = read_config(tmp_path / "lab")
    assert config.run.target == target
    assert config.targets[target] == TARGET_DEFAULTS[target]
    program = (tmp_path / "lab/research/program.md").read_text()
    assert "numba" not in program
    assert "--target interpreter" in program


def test_without_git_nothing_is_made(mjolnir, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    answer = mjolnir("new", "lab", cwd=tmp_path)
    assert answer.code == 2
    assert "git is not installed" in answer.err
    assert tree_of(tmp_path) == []


@pytest.mark.parametrize(
    "problem", [OSError(28, "No space left on device"), KeyboardInterrupt()], ids=["full", "ctrl-c"]
)
@pytest.mark.parametrize("was_there", [False, True], ids=["missing", "empty"])
def test_a_failure_half_way_leaves_nothing_behind(tmp_path, monkeypatch, problem, was_there):
    if was_there:
        (tmp_path / "a").mkdir()

    def fail(repository, message, paths):
        assert set(tree_of(repository.root)) >= FILES
        raise problem

    monkeypatch.setattr(Git, "commit", fail)
    place = tmp_path / "a" if was_there else tmp_path / "a" / "lab"
    with pytest.raises((Refused, KeyboardInterrupt)):
        make_research_repository(place)
    assert tree_of(tmp_path) == (["a"] if was_there else [])


def test_a_machine_where_git_knows_no_user_gets_a_repository_in_which_an_agent_can_commit(
    mjolnir, tmp_path, monkeypatch
):
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.delenv(f"GIT_{role}_NAME")
        monkeypatch.delenv(f"GIT_{role}_EMAIL")
    config = tmp_path / "gitconfig"
    config.write_text("[user]\n\tuseConfigOnly = true\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    answer = mjolnir("new", "lab", cwd=tmp_path)
    assert answer.code == 0
    assert "git knows no user here" in answer.err
    git(tmp_path / "lab", "commit", "--quiet", "--allow-empty", "-m", "an agent's commit")


def test_hooks_signing_and_templates_of_the_user_do_not_reach_the_first_commit(mjolnir, tmp_path, monkeypatch):
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    (hooks / "pre-commit").write_text("#!/bin/sh\nexit 1\n")
    (hooks / "pre-commit").chmod(0o755)
    config = tmp_path / "gitconfig"
    config.write_text(f"[core]\n\thooksPath = {hooks}\n[commit]\n\tgpgSign = true\n[gpg]\n\tprogram = false\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    assert mjolnir("new", "lab", cwd=tmp_path).code == 0
