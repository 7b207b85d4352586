"""What `evaluate` says and writes beside its row: documents, charts, hypotheses of any kind, errors."""

from __future__ import annotations

import json
import subprocess

import pytest

from doubles.research import KERNEL, kernel_text

pytest_plugins = ("doubles.fixtures",)


def test_run_documents_hold_the_seed_and_the_raw_series(lab):
    lab.commit(speedup=1.2)
    runs = lab.evaluate().json["verify_runs"]
    documents = {
        stage: json.loads((lab.root / f"research/verify/{stage}/{runs[stage]}.json").read_text())
        for stage in ("correctness", "sweep")
    }
    assert documents["correctness"]["cases"]
    assert documents["sweep"]["series"][0]["points"][0]["total_us"] == 64.0
    assert documents["sweep"]["params"]["seed"] == documents["correctness"]["params"]["seed"] > 0
    assert documents["sweep"]["params"]["origin"] == lab.head()


def test_every_evaluation_has_its_own_seed(lab):
    seeds = set()
    for speedup in (1.001, 1.002, 1.003):
        lab.commit(speedup=speedup)
        run_id = lab.evaluate().json["verify_runs"]["sweep"]
        seeds.add(json.loads((lab.root / f"research/verify/sweep/{run_id}.json").read_text())["params"]["seed"])
    assert len(seeds) == 3


def test_without_a_baseline_the_first_evaluation_is_it(research):
    research.started("oct11", "--no-baseline")
    assert research.rows() == []
    research.commit(speedup=1.1)
    assert research.evaluate("x", "--ls", "128").json["error"]["code"] == "E_CONFIG"
    row = research.evaluate("first").json
    assert (row["status"], row["id"], row["best_before"]) == ("baseline", 1, None)


def test_the_human_form_is_short_and_ends_with_what_to_type(lab):
    base = lab.head()
    lab.commit(speedup=1.01)
    said = lab.call("autoresearch", "evaluate", "-m", "a [bold]small[/bold] idea \x1b[31m")
    lines = said.out.rstrip("\n").splitlines()
    assert len(lines) <= 25
    assert lines[-1] == f"run:  git reset --hard {base}"
    assert any("DISCARD" in line for line in lines[-4:])
    assert "a [bold]small[/bold] idea" in said.out
    assert "\x1b" not in said.out


def test_a_kept_experiment_draws_the_chart(lab):
    chart = lab.root / "research/progress.png"
    chart.unlink(missing_ok=True)
    lab.commit(speedup=1.2)
    lab.evaluate()
    assert chart.read_bytes().startswith(b"\x89PNG")


def test_a_chart_that_cannot_be_drawn_costs_nothing(lab):
    chart = lab.root / "research/progress.png"
    chart.unlink(missing_ok=True)
    chart.mkdir()
    lab.commit(speedup=1.2)
    said = lab.evaluate()
    assert (said.code, said.json["status"]) == (0, "keep")


@pytest.mark.parametrize(
    "text",
    [
        "two\nlines\tand a tab",
        "[/=] [bold]markup[/bold] {braces}",
        "escapes \x1b[31mred\x1b[0m \x07 \u202e",
        "ünïcödé 速い 🚀",
        "-starts with a dash",
        "x" * 100_000,
    ],
    ids=["newlines", "markup", "escapes", "unicode", "dash", "long"],
)
def test_any_hypothesis_comes_back_as_it_went_in(lab, text):
    lab.commit(speedup=1.2)
    said = lab.call("autoresearch", "evaluate", f"--hypothesis={text}", "--json")
    assert said.code == 0, said.err
    assert lab.rows()[-1]["hypothesis"] == text
    assert lab.call("autoresearch", "ledger").code == 0
    assert len((lab.root / "research/ledger.tsv").read_text().splitlines()) == 3, "a header and one line a row"


def test_a_megabyte_with_nul_comes_through_a_pipe(lab):
    text = "a\0b " + "é" * 500_000
    lab.commit(speedup=1.2)
    process = lab.spawn("autoresearch", "evaluate", "-m", "-", "--json", stdin=subprocess.PIPE)
    out, err = process.communicate(text + "\n")
    assert process.returncode == 0, err
    assert json.loads(out)["status"] == "keep"
    assert lab.rows()[-1]["hypothesis"] == text


@pytest.mark.parametrize("text", ["", "  \n\t "])
def test_an_empty_hypothesis_is_wrong_use(lab, text):
    lab.commit(speedup=1.2)
    said = lab.evaluate(text)
    assert (said.code, said.json["error"]["code"]) == (2, "E_USAGE")
    assert len(lab.rows()) == 1


def test_bytes_that_are_no_utf8_do_not_stop_a_row(lab):
    lab.commit(speedup=1.2)
    said = lab.evaluate("caf\udce9")
    assert said.code == 0
    assert lab.rows()[-1]["hypothesis"] == "caf\ufffd"


def test_an_environment_fault_is_exit_2_without_a_row(lab):
    lab.commit(speedup=1.2)
    lab.machine(fault="no device answers")
    before = lab.state()
    said = lab.evaluate()
    assert (said.code, said.json["error"]["message"]) == (2, "no device answers")
    assert said.err.splitlines()[-2:] == ["error: no device answers", "hint: plug the device in"]
    assert lab.state() == before
    assert not lab.inflight.exists()


def test_an_error_in_json_is_exactly_one_object(lab):
    said = lab.evaluate()
    assert said.code == 4
    assert set(said.json) == {"schema", "error", "first"}
    assert set(said.json["error"]) == {"code", "message", "hint"}


def test_the_blob_of_the_commit_is_measured_whatever_the_work_tree_shows(lab):
    commit = lab.commit(speedup=1.2)
    lab.git("update-index", "--assume-unchanged", KERNEL)
    lab.write(KERNEL, kernel_text(speedup=99.0))
    said = lab.evaluate()
    assert (said.code, said.json["error"]["code"]) == (4, "E_DIRTY"), "no flag hides an edit"
    lab.write(KERNEL, kernel_text(speedup=1.2))
    assert lab.evaluate().json["commit_full"] == commit
