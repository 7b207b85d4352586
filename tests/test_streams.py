"""Standard streams that are full, closed or left early; signals before the command has begun."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytest_plugins = ("doubles.fixtures",)

READERS = ["status", "status --json", "ledger", "ledger --json", "show 1", "show 1 --json"]


def shell(line, cwd):
    command = line.replace("mjolnir ", f"{sys.executable} -c 'from mjolnir.entry import main; main()' ")
    return subprocess.run(["bash", "-c", command], cwd=cwd, capture_output=True, text=True, check=False)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("words", READERS)
def test_an_answer_that_finds_no_room_is_two_lines_and_exit_4(lab, words):
    said = shell(f"mjolnir autoresearch {words} >/dev/full", lab.root)
    assert said.returncode == 4, said.stderr
    assert [line.split(":")[0] for line in said.stderr.splitlines()] == ["error", "hint"]


@pytest.mark.parametrize("words", READERS)
def test_a_closed_stdout_is_no_traceback(lab, words):
    said = shell(f"mjolnir autoresearch {words} >&-", lab.root)
    assert (said.returncode, said.stderr) == (0, "")


@pytest.mark.parametrize("words", READERS)
def test_a_reader_that_leaves_at_once_is_no_error(lab, words):
    said = shell(f"mjolnir autoresearch {words} | true; exit ${{PIPESTATUS[0]}}", lab.root)
    assert (said.returncode, said.stderr) == (0, "")


def test_a_closed_stdin_is_wrong_use_of_the_dash(lab):
    said = shell("mjolnir autoresearch evaluate -m - --json <&-", lab.root)
    assert said.returncode == 2
    assert json.loads(said.stdout)["error"]["code"] == "E_USAGE"


def test_a_row_is_recorded_though_its_answer_finds_no_room(lab):
    lab.commit(speedup=1.3)
    said = shell("mjolnir autoresearch evaluate -m idea --json >/dev/full", lab.root)
    assert said.returncode == 4
    assert "stays recorded" in said.stderr
    assert len(lab.rows()) == 2


def test_ctrl_c_while_the_program_is_still_loading_is_130_and_two_lines():
    program = (
        "import os, signal, sys\n"
        "class Hit:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'mjolnir.cli':\n"
        "            os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Hit())\n"
        "from mjolnir.entry import main\nmain()\n"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert said.returncode in (130, -signal.SIGINT)
    assert [line.split(":")[0] for line in said.stderr.splitlines()] == ["error", "hint"]


def test_a_deleted_configuration_is_refused_with_the_command_that_brings_it_back(lab):
    (lab.root / "mjolnir.toml").unlink()
    lab.commit(speedup=1.3)
    said = lab.evaluate()
    assert said.code == 4
    assert said.json["error"]["code"] == "E_CONFIG"
    assert "-- mjolnir.toml" in said.json["error"]["hint"]


def test_a_row_of_an_unknown_status_is_damage_to_every_reader(lab):
    text = lab.ledger.read_text()
    lab.ledger.write_text(text.replace('"status":"baseline"', '"status":"basfline"', 1))
    for words in ("ledger", "ledger --json"):
        said = shell(f"mjolnir autoresearch {words}", lab.root)
        assert said.returncode == 4, words
        assert "research/ledger.jsonl:1" in said.stderr


def test_a_branch_that_git_could_not_switch_to_is_taken_back(research):
    (research.root / ".git/HEAD.lock").touch()
    said = research.init("h1")
    assert said.code == 4
    (research.root / ".git/HEAD.lock").unlink()
    assert "autoresearch/h1" not in research.git("branch", "--list", "autoresearch/h1")
    assert research.init("h1").code == 0


def test_status_of_a_run_without_a_baseline_says_what_comes_next(research):
    research.init("early", "--no-baseline")
    assert "mjolnir autoresearch evaluate" in shell("mjolnir autoresearch status", research.root).stdout
