"""The two commands on a fresh machine: what make lists, and what the installing script says and leaves alone."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture
def checkout(tmp_path):
    """A checkout with a space in its path: the Makefile, the script, pyproject.toml, and no package index."""
    root = tmp_path / "my checkout"
    (root / "scripts").mkdir(parents=True)
    for name in ("Makefile", "pyproject.toml", "scripts/install.sh"):
        shutil.copy(ROOT / name, root / name)
    return root


def run(root, *words, **env):
    return subprocess.run(words, cwd=root, env=env or None, capture_output=True, text=True, check=False)


def make_path(folder, *tools):
    """A PATH that holds these tools and nothing else."""
    folder.mkdir()
    for tool in tools:
        (folder / tool).symlink_to(shutil.which(tool))
    return str(folder)


def fake_environment(root, extra):
    """A .venv in which `extra` was installed for this very pyproject.toml; its python answers nothing but 0."""
    (root / ".venv/bin").mkdir(parents=True)
    (root / ".venv/bin/python").symlink_to(shutil.which("true"))
    checksum = subprocess.run(["cksum"], input=(root / "pyproject.toml").read_bytes(), capture_output=True, check=True)
    (root / f".venv/.installed-{extra}").write_text(f"{root.resolve()}: {checksum.stdout.decode().strip()}")


def test_make_alone_lists_every_target(checkout):
    listed = set(re.findall(r"^make ([a-z-]+)", run(checkout, "make").stdout, re.MULTILINE))
    phony = re.search(r"^\.PHONY: (.+)$", (checkout / "Makefile").read_text(), re.MULTILINE)
    assert listed == set(phony[1].split()) - {"help"}


@pytest.mark.parametrize("target", ["demo", "test", "test-slow", "check"])
def test_the_first_line_says_what_is_about_to_happen(checkout, tmp_path, target):
    path = make_path(tmp_path / "bin", "make", "sh", "dirname", "cksum", "cat")
    answer = run(checkout, "make", target, PATH=path)
    assert answer.returncode != 0
    assert answer.stdout.splitlines()[0].startswith(f"make {target}: ")


def test_without_a_python_that_is_new_enough_there_are_two_clear_lines_and_exit_2(checkout, tmp_path):
    path = make_path(tmp_path / "bin", "sh", "dirname", "cksum", "cat")
    answer = run(checkout, "sh", "scripts/install.sh", "cpu", PATH=path)
    assert answer.returncode == 2
    first, second = answer.stderr.splitlines()
    assert first.startswith("error: no Python 3.11 or newer")
    assert second.startswith("hint: install one")
    assert not (checkout / ".venv").exists()


def test_a_second_run_installs_nothing(checkout, tmp_path):
    fake_environment(checkout, "cpu")
    path = make_path(tmp_path / "bin", "sh", "dirname", "cksum", "cat")
    answer = run(checkout, "sh", "scripts/install.sh", "cpu", PATH=path)
    assert (answer.returncode, answer.stdout, answer.stderr) == (0, "", "")


def test_a_changed_pyproject_is_installed_again(checkout, tmp_path):
    fake_environment(checkout, "cpu")
    with (checkout / "pyproject.toml").open("a") as file:
        file.write("# changed\n")
    path = make_path(tmp_path / "bin", "sh", "dirname", "cksum", "cat", "rm")
    answer = run(checkout, "sh", "scripts/install.sh", "cpu", PATH=path)
    assert "installing mjolnir with its [cpu] packages" in answer.stdout


def test_no_script_that_minds_broken_pipes_reads_only_part_of_one():
    """`tool | head -n 1` under pipefail ends with 141 when head leaves before the tool has written its last line."""
    scripts = [ROOT / ".ci/run", *sorted((ROOT / "scripts").glob("*.sh"))]
    early = re.compile(r"\|\s*(?:head\b|grep\s+-\w*q|sed\s+\S*q\b|read\b)")
    for script in scripts:
        text = script.read_text()
        assert "pipefail" not in text or not early.search(text), script
