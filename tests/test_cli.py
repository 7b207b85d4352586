"""The command tree as a whole: help, versions, wrong use, and folders that are gone."""

import json
import os
import signal
import subprocess
import sys

import pytest

MJOLNIR = [sys.executable, "-m", "mjolnir.cli"]


def run(*words, cwd=None):
    return subprocess.run([*MJOLNIR, *words], cwd=cwd, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    "words", [["-h"], ["--help"], ["verify", "-h"], ["autoresearch", "evaluate", "-h"]], ids=" ".join
)
def test_help_works_everywhere_and_shows_an_example(words):
    result = run(*words)
    assert result.returncode == 0
    assert "Example:" in result.stdout


LATER = ["run", "stop", "note", "summarize", "finish", "compare"]


def test_what_comes_later_is_absent_from_help():
    names = {
        line.split()[0]
        for line in run("autoresearch", "--help").stdout.splitlines()
        if line.startswith("  ") and line.split()
    }
    assert names.isdisjoint(LATER)
    assert {"init", "evaluate", "ledger", "show", "status", "chart", "export", "audit"} <= names


@pytest.mark.parametrize(
    "words", [["nosuch"], ["autoresearch", "evaluate", "--nosuch"], ["autoresearch", "init"]], ids=" ".join
)
def test_wrong_use_is_two_lines_and_exit_2(words):
    result = run(*words)
    assert result.returncode == 2
    error, hint = result.stderr.splitlines()
    assert error.startswith("error: ")
    assert hint.startswith("hint: mjolnir")


def test_wrong_use_with_json_is_one_object_on_stdout():
    result = run("autoresearch", "status", "--json", "--nosuch")
    answer = json.loads(result.stdout)
    assert result.returncode == 2
    assert answer["schema"] == "mjolnir.status/1"
    assert answer["error"].keys() == {"code", "message", "hint"}


def test_a_group_without_a_command_shows_its_help():
    result = run("autoresearch")
    assert result.returncode == 2
    assert "evaluate" in result.stderr


def test_a_folder_that_is_gone_is_said(tmp_path):
    program = f"cd {tmp_path} && rmdir {tmp_path} && exec {sys.executable} -m mjolnir.cli autoresearch status"
    result = subprocess.run(["sh", "-c", program], capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert "does not exist any more" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_reader_that_leaves_early_is_no_error():
    read, write = os.pipe()
    os.close(read)
    result = subprocess.run([*MJOLNIR, "explain"], stdout=write, stderr=subprocess.PIPE, text=True, check=False)
    os.close(write)
    assert "Traceback" not in result.stderr


def test_ctrl_c_is_exit_130_and_two_lines():
    program = (
        "import os, signal, mjolnir.commands.explain as e\n"
        "import mjolnir.core.catalogue as c\n"
        "c.entries = e.entries = lambda *a: os.kill(os.getpid(), signal.SIGINT)\n"
        "from mjolnir.cli import main\nmain(['explain'])\n"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert result.returncode == 130 or result.returncode == -signal.SIGINT
    assert result.stderr.splitlines()[0].startswith("error: interrupted")
