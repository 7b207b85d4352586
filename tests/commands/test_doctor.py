"""`mjolnir doctor` from outside: what it finds, what it calls missing, and its JSON."""

import json
import os
import shutil

import pytest

import mjolnir as package
from mjolnir.loop.scaffold import make_research_repository


@pytest.fixture
def lab(tmp_path):
    return make_research_repository(tmp_path / "lab").root


@pytest.fixture
def doctor(mjolnir):
    """Run it with --json; returns (exit code, answer, checks by name)."""

    def call(cwd, *words):
        answer = mjolnir("doctor", "--json", *words, cwd=cwd)
        value = json.loads(answer.out)
        return answer.code, value, {check["name"]: check for check in value.get("checks", [])}

    return call


def test_a_new_research_repository_is_ready(doctor, lab):
    code, answer, checks = doctor(lab)
    assert code == 0
    assert {key: answer[key] for key in ("schema", "target", "ok")} == {
        "schema": "mjolnir.doctor/1",
        "target": "cpu",
        "ok": True,
    }
    assert all(set(check) == {"name", "ok", "found", "hint"} and check["ok"] for check in answer["checks"])
    assert {"git", "repository", "mjolnir.toml", "kernel file", "harness", "python", "disk", "load"} <= set(checks)
    assert "error" not in answer


def test_the_human_form_ends_with_ready(mjolnir, lab):
    answer = mjolnir("doctor", cwd=lab)
    assert answer.code == 0
    assert answer.out.splitlines()[0] == "mjolnir doctor: target cpu"
    assert answer.out.splitlines()[-1] == "ready"


def test_it_works_from_a_folder_inside_the_repository(doctor, lab):
    code, _, checks = doctor(lab / "research")
    assert code == 0
    assert checks["kernel file"]["ok"]


def test_outside_a_repository_the_machine_is_checked_and_the_hint_says_how_to_start(doctor, tmp_path):
    code, answer, checks = doctor(tmp_path)
    assert code == 0
    assert answer["ok"]
    assert "mjolnir new DIR" in checks["repository"]["hint"]
    assert "kernel file" not in checks


def test_a_missing_configuration_is_a_missing_precondition(doctor, lab):
    (lab / "mjolnir.toml").unlink()
    code, answer, checks = doctor(lab)
    assert code == 2
    assert not answer["ok"]
    assert not checks["mjolnir.toml"]["ok"]
    assert answer["error"]["message"].startswith("mjolnir.toml: ")


def test_a_misspelt_key_is_named(doctor, lab):
    (lab / "mjolnir.toml").write_text("[run]\nmin_gian = 0.1\n")
    code, _, checks = doctor(lab)
    assert code == 2
    assert "min_gian" in checks["mjolnir.toml"]["found"]
    assert "min_gain" in checks["mjolnir.toml"]["hint"]


def remove(path):
    path.unlink()


def link(path):
    target = path.with_name("elsewhere.py")
    path.rename(target)
    path.symlink_to(target)


def fatten(path):
    path.write_bytes(b"#" * (1 << 20) + b"\n")


def make_executable(path):
    path.chmod(0o755)


@pytest.mark.parametrize(
    ("damage", "word"),
    [(remove, "missing"), (link, "symbolic link"), (fatten, "bytes"), (make_executable, "executable")],
)
def test_a_kernel_file_that_evaluate_would_refuse_is_a_missing_precondition(doctor, lab, damage, word):
    damage(lab / "src/mjolnir_kernel/cpu_decode.py")
    code, _, checks = doctor(lab)
    assert code == 2
    assert word in checks["kernel file"]["found"]
    assert checks["kernel file"]["hint"]


def test_a_harness_inside_the_research_repository_is_a_plain_warning(doctor, lab, monkeypatch):
    monkeypatch.setattr(package, "__file__", str(lab / "src/mjolnir/__init__.py"))
    code, answer, checks = doctor(lab)
    assert code == 0
    assert answer["ok"]
    assert "can change its own judge" in checks["harness"]["found"]
    assert "mjolnir new DIR" in checks["harness"]["hint"]


def test_a_full_disk_is_a_missing_precondition(doctor, lab, monkeypatch):
    usage = shutil.disk_usage(lab)
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: usage._replace(free=1000))
    code, _, checks = doctor(lab)
    assert code == 2
    assert not checks["disk"]["ok"]


def test_other_load_is_a_warning_and_not_a_failure(mjolnir, lab, monkeypatch):
    monkeypatch.setattr(os, "getloadavg", lambda: (90.0, 9.0, 9.0))
    answer = mjolnir("doctor", cwd=lab)
    assert answer.code == 0
    assert "warning  load" in answer.out


def test_without_git_it_says_so_and_still_checks_the_rest(doctor, lab, monkeypatch):
    monkeypatch.setenv("PATH", str(lab))
    code, _, checks = doctor(lab)
    assert code == 2
    assert "git is not installed" in checks["git"]["found"]
    assert checks["python"]["ok"]


def test_a_repository_without_a_commit_is_told_to_commit(doctor, tmp_path):
    from mjolnir.store.git import Git

    Git.init_repository(tmp_path)
    code, _, checks = doctor(tmp_path)
    assert code == 2
    assert "without a commit" in checks["repository"]["found"]


def test_a_target_that_is_not_installed_is_an_error_with_the_list(doctor, lab):
    code, answer, _ = doctor(lab, "--target", "thor")
    assert code == 2
    assert answer["schema"] == "mjolnir.doctor/1"
    assert answer["error"]["code"] == "E_TARGET"
    assert "cpu" in answer["error"]["hint"]
