"""Each code with which `evaluate` refuses is reached: exit 4, no row, two lines, and `explain` knows it."""

from __future__ import annotations

import pytest

from doubles.expectations import refused
from doubles.research import CONFIG, KERNEL, kernel_text

pytest_plugins = ("doubles.fixtures",)


def forbidden_import(lab, monkeypatch):
    lab.commit("import socket\n" + kernel_text(speedup=1.2))


def same_program(lab, monkeypatch):
    lab.commit(kernel_text() + "# the baseline in other words\n")


def spent_budget(lab, monkeypatch):
    lab.commit(speedup=1.01)
    assert lab.evaluate().code == 0
    assert lab.evaluate("again", "--again").code == 0


def uncommitted_kernel(lab, monkeypatch):
    lab.write(KERNEL, kernel_text(speedup=1.2))


def another_file(lab, monkeypatch):
    lab.write(".opencode/agent/helper.md", "be quick\n")
    lab.git("add", "-A")
    lab.commit(speedup=1.2)


def foreign_history(lab, monkeypatch):
    orphan = lab.git("commit-tree", "-m", "orphan", "HEAD^{tree}")
    lab.git("reset", "-q", "--hard", orphan)


def replace_refs(lab, monkeypatch):
    base = lab.head()
    lab.git("replace", lab.commit(speedup=1.2), base)


def kernel_is_a_link(lab, monkeypatch):
    (lab.root / KERNEL).unlink()
    (lab.root / KERNEL).symlink_to("other.py")
    lab.git("commit", "-qam", "link")


def edited_ledger(lab, monkeypatch):
    lab.ledger.write_text(lab.ledger.read_text().replace('"score":1.0', '"score":0.5'))
    lab.commit(speedup=1.2)


def another_harness(lab, monkeypatch):
    lab.commit(speedup=1.2)
    monkeypatch.setattr("mjolnir.loop.guard.harness_hash", lambda: "0" * 64)


def laxer_configuration(lab, monkeypatch):
    lab.write("mjolnir.toml", CONFIG.replace("0.05", "0.0"))
    lab.commit(speedup=1.2)


REFUSALS = {
    "E_IMPORT": forbidden_import,
    "E_SAME_PROGRAM": same_program,
    "E_BUDGET": spent_budget,
    "E_DIRTY": uncommitted_kernel,
    "E_OTHER_FILES": another_file,
    "E_LINEAGE": foreign_history,
    "E_GIT_REPLACE": replace_refs,
    "E_NOT_REGULAR": kernel_is_a_link,
    "E_LEDGER": edited_ledger,
    "E_HARNESS": another_harness,
    "E_CONFIG": laxer_configuration,
}


@pytest.mark.parametrize("code", REFUSALS)
def test_it_is_refused_with_its_code_and_no_row(lab, monkeypatch, code):
    REFUSALS[code](lab, monkeypatch)
    words = ("--again",) if code == "E_BUDGET" else ()
    refused(lab, code, *words)
    said = lab.call("autoresearch", "evaluate", "-m", "an idea", *words)
    assert (said.code, said.out) == (4, "")
    assert [line.partition(":")[0] for line in said.err.splitlines()] == ["error", "hint"]


@pytest.mark.parametrize("code", REFUSALS)
def test_the_code_is_explained_as_a_refusal(mjolnir, code):
    said = mjolnir("explain", code)
    assert said.code == 0
    assert "refusal" in said.out.splitlines()[0]
    assert "what to do:" in said.out
