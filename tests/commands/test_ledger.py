"""`mjolnir autoresearch ledger` and `show`."""

from __future__ import annotations

import json

import pytest
from reader_place import HOSTILE, VERSION_0, make_place, make_run

from mjolnir.store.runs import write_document


@pytest.fixture
def place(tmp_path):
    return make_run(tmp_path / "a répo with spaces")


def test_rows_are_newest_last_and_only_the_champion_has_a_star(mjolnir, place, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    answer = mjolnir("autoresearch", "ledger", cwd=place.root)
    lines = answer.out.splitlines()
    assert (answer.code, answer.err) == (0, "")
    assert [line.split()[0] for line in lines[1:6]] == ["1", "2", "3", "4", "5"]
    assert [line.split()[0] for line in lines if "★" in line] == ["2"]
    assert "[/=] [bold]x red nul new" in lines[5]
    assert "\x1b" not in answer.out
    assert lines[6] == "5 of 5 experiments; one whole: mjolnir autoresearch show ID"


def test_json_is_one_object_with_the_rows_as_they_are_recorded(mjolnir, place):
    answer = mjolnir("autoresearch", "ledger", "--tail", "2", "--json", cwd=place.root)
    found = json.loads(answer.out)
    lines = (place.root / "research" / "ledger.jsonl").read_text().splitlines()
    assert {key: found[key] for key in ("schema", "run", "total")} == {
        "schema": "mjolnir.ledger-view/1", "run": "oct11", "total": 5
    }  # fmt: skip
    assert found["rows"] == [json.loads(line) for line in lines[-2:]]
    assert found["rows"][-1]["hypothesis"] == HOSTILE


def test_tail_nought_shows_no_row_and_a_negative_one_is_refused(mjolnir, place):
    assert json.loads(mjolnir("autoresearch", "ledger", "--tail", "0", "--json", cwd=place.root).out)["rows"] == []
    answer = mjolnir("autoresearch", "ledger", "--tail", "-1")
    assert answer.code == 2
    assert answer.err.startswith("error: ")


def test_without_a_run_it_says_what_to_type(mjolnir, tmp_path):
    place = make_place(tmp_path / "r")
    assert (
        mjolnir("autoresearch", "ledger", cwd=place.root).out == "no experiments yet: mjolnir autoresearch init TAG\n"
    )
    found = json.loads(mjolnir("autoresearch", "ledger", "--json").out)
    assert found == {"schema": "mjolnir.ledger-view/1", "run": None, "total": 0, "rows": []}
    place.start_run()
    assert mjolnir("autoresearch", "ledger").code == 0
    assert json.loads(mjolnir("autoresearch", "ledger", "--json").out)["run"] == "oct11"


def test_outside_a_repository_it_is_refused_in_two_lines(mjolnir, tmp_path):
    answer = mjolnir("autoresearch", "ledger", "--json", cwd=tmp_path)
    assert answer.code == 4
    assert [line.split(":")[0] for line in answer.err.splitlines()] == ["error", "hint"]
    assert json.loads(answer.out)["error"]["code"] == "E_REPOSITORY"


def test_a_ledger_of_mjolnir_cli_0_2_0_lists_and_its_rows_show(mjolnir, tmp_path):
    place = make_place(tmp_path / "r")
    (place.root / "research").mkdir()
    (place.root / "research" / "ledger.jsonl").write_bytes(VERSION_0.read_bytes())
    found = json.loads(mjolnir("autoresearch", "ledger", "--json", cwd=place.root).out)
    assert found["run"] == "oct11"
    assert found["total"] == len(VERSION_0.read_text().splitlines())
    assert mjolnir("autoresearch", "ledger").code == 0
    answer = mjolnir("autoresearch", "show", found["rows"][-1]["id"], "--diff")
    assert answer.code == 0
    assert "its commits are not in this repository" in answer.out


def test_a_damaged_line_is_named(mjolnir, place):
    path = place.root / "research" / "ledger.jsonl"
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0], "{broken", *lines[2:]]) + "\n")
    answer = mjolnir("autoresearch", "status", cwd=place.root)
    assert answer.code == 4
    assert "research/ledger.jsonl:2" in answer.err


def test_show_tells_one_experiment_with_its_diff(mjolnir, place):
    answer = mjolnir("autoresearch", "show", 2, "--diff", cwd=place.root)
    assert answer.out.startswith("#2 ✓ keep\n\npage tiles\n")
    assert "\n+def decode(): return 2\n" in answer.out
    assert "source      javascript:alert(1)" in answer.out


def test_the_starting_kernel_has_no_diff_and_an_old_row_is_compared_with_its_parent(mjolnir, place):
    assert mjolnir("autoresearch", "show", 1, "--diff", cwd=place.root).out.endswith("\ndiff\nthe kernel is the same\n")
    row = place.append("discard", champion_commit=None, parent_full=None, commit_full=None)
    assert "\n-def decode(): pass\n+def decode(): return 2\n" in mjolnir("autoresearch", "show", row.id, "--diff").out


def test_show_json_has_row_diff_and_documents(mjolnir, place):
    run_id = write_document(place.root, "sweep", {"params": {"x": 1}})
    row = place.append("discard", verify_runs={"correctness": "gone", "sweep": run_id})
    log = place.root / "research" / "logs" / f"oct11-20260301T000000-{place.commits[-1][:12]}.log"
    log.parent.mkdir()
    log.write_text("x")
    found = json.loads(mjolnir("autoresearch", "show", row.id, "--json", cwd=place.root).out)
    assert found["schema"] == "mjolnir.show/1"
    assert found["row"]["id"] == row.id
    assert (found["diff"], found["summary"]) == (None, None)
    assert [document["stage"] for document in found["documents"]] == ["correctness", "sweep"]
    assert found["documents"][0]["path"] is None
    assert found["documents"][1]["document"]["params"] == {"x": 1}
    assert found["logs"] == [str(log)]
    with_diff = json.loads(mjolnir("autoresearch", "show", 2, "--diff", "--json").out)
    assert "+def decode(): return 2" in with_diff["diff"]


@pytest.mark.parametrize("word", ["99", "0", "x"])
def test_show_of_an_unknown_id_is_wrong_use(mjolnir, place, word):
    answer = mjolnir("autoresearch", "show", word, "--json", cwd=place.root)
    assert answer.code == 2
    assert json.loads(answer.out)["error"]["code"] == "E_USAGE"
    assert answer.err.startswith("error: ")


def test_a_ledger_lost_from_the_work_tree_comes_back_with_a_notice(mjolnir, place):
    (place.root / "research" / "ledger.jsonl").unlink()
    answer = mjolnir("autoresearch", "ledger", cwd=place.root)
    assert answer.code == 0
    assert "5 of 5 experiments" in answer.out
    assert answer.err.startswith("note: ")
