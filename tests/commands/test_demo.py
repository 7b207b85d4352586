"""`mjolnir demo` from outside. The device is played by the scripted double; one slow test measures for real."""

import json
import os
import subprocess
import sys
import tempfile

import pytest

from doubles.research import SCRIPTED
from mjolnir.config import Config, read_config
from mjolnir.core.program_hash import program_hash
from mjolnir.errors import Interrupted
from mjolnir.loop.demo import demo_steps
from mjolnir.store.device_lock import lock_path
from mjolnir.targets.cpu import CpuTarget
from mjolnir.targets.protocol import Entrant, KernelSource

FASTER, WRONG, SAME = (step.kernel for step in demo_steps())
KEPT = "SPEEDUP = 5.0"
DISCARDED = 'OUTCOME = "incorrect"'


@pytest.fixture
def device(monkeypatch, tmp_path_factory):
    """The cpu target measures nothing: what each kernel's measurements come to stands in a list, used up in order."""
    monkeypatch.syspath_prepend(str(SCRIPTED))
    from mjolnir_scripted import ScriptedTarget

    script = {FASTER: [KEPT], WRONG: [DISCARDED]}

    def race(self, entrants, request, observe):
        monkeypatch.setenv("MJOLNIR_SCRIPTED", "")
        played = []
        for entrant in entrants:
            line = script.get(entrant.kernel.blob.decode(), ["SPEEDUP = 1.0"])[-1] if entrant.kernel else ""
            blob = (line if isinstance(line, str) else KEPT).encode()
            kernel = KernelSource(blob=blob, name="played", origin="played") if entrant.kernel else None
            played.append(Entrant(role=entrant.role, kernel=kernel))
        return ScriptedTarget(Config()).race(played, request, observe)

    def visit(self, kernel, request, observe):
        lines = script.get(kernel.blob.decode(), ["SPEEDUP = 1.0"])
        line = lines.pop(0) if len(lines) > 1 else lines[0]
        if isinstance(line, BaseException):
            raise line
        monkeypatch.setenv("MJOLNIR_SCRIPTED", "")
        if isinstance(line, dict):
            path = tmp_path_factory.mktemp("machine") / "machine.json"
            path.write_text(json.dumps(line))
            monkeypatch.setenv("MJOLNIR_SCRIPTED", str(path))
            line = KEPT
        played = KernelSource(blob=line.encode(), name=kernel.name, origin=kernel.origin)
        return ScriptedTarget(Config()).visit(played, request, observe)

    monkeypatch.setattr(CpuTarget, "visit", visit)
    monkeypatch.setattr(CpuTarget, "race", race)
    name = f"played-{os.getpid()}"  # no queue behind those who really measure
    monkeypatch.setattr(CpuTarget, "name", name)
    yield script
    lock_path(name).unlink(missing_ok=True)


def statuses(root):
    lines = (root / "research/ledger.jsonl").read_text().splitlines()
    return [json.loads(line)["status"] for line in lines]


def git(root, *words):
    return subprocess.run(["git", *words], cwd=root, check=True, capture_output=True, text=True).stdout.strip()


def test_the_tour_ends_with_the_three_verdicts_and_the_path_of_a_chart_that_exists(mjolnir, device, tmp_path):
    root = tmp_path / "lab"
    answer = mjolnir("demo", root)
    assert answer.code == 0, answer.err
    lines = answer.out.splitlines()
    assert lines[0].startswith("mjolnir demo: makes a research repository, measures")
    assert lines[-1] == str(root / "research/progress.png")
    assert (root / "research/progress.png").stat().st_size > 10_000
    assert (root / "research/progress-dark.png").is_file()
    end = lines.index("The three experiments:")
    assert [line.split()[0] for line in lines[end + 1 : end + 4]] == ["keep", "discard", "refused"]


def test_every_measurement_is_a_row_and_the_refusal_is_none(mjolnir, device, tmp_path):
    assert mjolnir("demo", tmp_path / "lab").code == 0
    assert statuses(tmp_path / "lab") == ["baseline", "keep", "discard"]


def test_it_shows_the_commands_that_a_user_types_and_what_they_answer(mjolnir, device, tmp_path):
    out = mjolnir("demo", tmp_path / "lab").out
    assert "$ mjolnir autoresearch init demo" in out
    assert out.count("$ git commit -m ") == 3
    assert out.count("$ mjolnir autoresearch evaluate -m ") == 3
    assert out.count("$ git reset --hard ") == 2
    assert "✓ KEEP" in out
    assert "· DISCARD (incorrect)" in out
    assert "error: the same program as before" in out
    assert "+            count = TILE" in out


def test_the_repository_is_left_clean_at_the_champion(mjolnir, device, tmp_path):
    root = tmp_path / "lab"
    mjolnir("demo", root)
    assert git(root, "branch", "--show-current") == "autoresearch/demo"
    assert git(root, "status", "--porcelain") == ""
    assert (root / "src/mjolnir_kernel/cpu_decode.py").read_text() == FASTER


def test_it_measures_three_short_lengths_with_one_pair_of_workers(mjolnir, device, tmp_path):
    mjolnir("demo", tmp_path / "lab")
    section = read_config(tmp_path / "lab").targets["cpu"]
    assert (section.lengths, section.worker_pairs) == ((128, 1024, 4096), 1)


def test_without_a_folder_it_works_in_a_temporary_one_that_stays(mjolnir, device, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    answer = mjolnir("demo")
    assert answer.code == 0
    (made,) = tmp_path.glob("mjolnir-demo-*")
    assert answer.out.splitlines()[1] == f"everything happens in {made}"
    assert (made / "research/progress.png").is_file()


def test_a_folder_that_is_not_empty_is_refused(mjolnir, device, tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    answer = mjolnir("demo", tmp_path)
    assert answer.code == 4
    assert "is not empty" in answer.err


def test_a_busy_machine_is_given_another_try(mjolnir, device, tmp_path):
    device[FASTER] = [{"unsteady": "other load"}, KEPT]
    answer = mjolnir("demo", tmp_path / "lab")
    assert answer.code == 0, answer.err
    assert statuses(tmp_path / "lab") == ["baseline", "noisy", "keep", "discard"]


@pytest.mark.parametrize(
    ("kernel", "lines", "word"),
    [
        (FASTER, ["SPEEDUP = 1.01"], "discard"),
        (FASTER, [{"unsteady": "other load"}], "noisy"),
        (WRONG, ["SPEEDUP = 9.0"], "keep"),
        (WRONG, ['OUTCOME = "crash"'], "crash"),
    ],
    ids=["not_faster", "always_noisy", "wrong_one_kept", "wrong_one_crashes"],
)
def test_a_step_that_does_not_end_as_told_is_exit_1_with_what_came_instead(
    mjolnir, device, tmp_path, kernel, lines, word
):
    device[kernel] = lines
    answer = mjolnir("demo", tmp_path / "lab")
    assert answer.code == 1
    assert f"the experiment ended as {word}" in answer.err
    assert str(tmp_path / "lab") in answer.err


@pytest.mark.parametrize("problem", [KeyboardInterrupt(), Interrupted()], ids=["ctrl_c", "signal"])
def test_ctrl_c_is_exit_130_and_says_where_everything_is(mjolnir, device, tmp_path, problem):
    device[FASTER] = [problem]
    answer = mjolnir("demo", tmp_path / "lab")
    assert answer.code == 130
    assert str(tmp_path / "lab") in answer.err
    assert statuses(tmp_path / "lab") == ["baseline"]
    assert not (tmp_path / "lab/research/.inflight.json").exists()


def test_the_last_experiment_is_the_same_program_and_the_others_are_not():
    assert SAME != FASTER
    assert program_hash(SAME.encode()) == program_hash(FASTER.encode())
    assert program_hash(WRONG.encode()) != program_hash(FASTER.encode())


@pytest.mark.slow
def test_the_real_tour_on_this_machine_ends_as_told(tmp_path):
    """Needs a machine with nothing else to do."""
    words = [sys.executable, "-m", "mjolnir.cli", "demo", str(tmp_path / "große lab")]
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert statuses(tmp_path / "große lab") == ["baseline", "keep", "discard"]
    assert done.stdout.splitlines()[-1] == str(tmp_path / "große lab" / "research/progress.png")
