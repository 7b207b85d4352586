"""`mjolnir autoresearch export`: a run as files to commit."""

from __future__ import annotations

import csv
import io
import os
import signal
import subprocess
import sys

import pytest
from PIL import Image
from reader_place import HOSTILE, VERSION_0, make_place, make_run

FILES = ["SUMMARY.md", "diffs", "ledger.jsonl", "ledger.tsv", "progress-dark.png", "progress.png"]


@pytest.fixture
def place(tmp_path):
    return make_run(tmp_path / "a répo")


@pytest.fixture
def folder(place):
    return place.root / "research" / "runs" / "oct11"


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_an_export_has_ledger_views_summary_charts_and_diffs(mjolnir, place, folder):
    answer = mjolnir("autoresearch", "export", cwd=place.root)
    assert answer.code == 0
    assert answer.out.splitlines()[0] == f"exported 5 experiments to {folder}"
    assert names(folder) == FILES
    assert (folder / "ledger.jsonl").read_bytes() == (place.root / "research" / "ledger.jsonl").read_bytes()
    assert (folder / "ledger.tsv").read_bytes() == (place.root / "research" / "ledger.tsv").read_bytes()
    assert "+def decode(): return 2" in (folder / "diffs" / "2.diff").read_text()
    assert Image.open(folder / "progress.png").size == (1600, 1000)
    assert names(folder.parent) == ["oct11"]


def test_the_summary_names_baseline_best_counts_and_every_experiment(mjolnir, place, folder):
    mjolnir("autoresearch", "export", cwd=place.root)
    text = (folder / "SUMMARY.md").read_text()
    second = place.commits[1][:7]
    assert "- experiments: 5 (1 baseline, 1 keep, 2 discard, 1 crash)\n" in text
    assert (
        f"- baseline: **#1** 0.5000x of the reference at `{place.commits[0][:7]}`: baseline: the starting kernel\n"
        in text
    )
    assert f"- best: **#2** 1.5000x of the reference at `{second}`: page tiles" in text
    link = "[1](https://arxiv.org/abs/1) javascript:alert(1)"
    assert f"| 2 | [`{second}`](diffs/2.diff) | keep | 1.5000 | because | tester | page tiles | {link} |\n" in text
    assert "<script" not in text
    assert sum(line.startswith("| ") for line in text.splitlines()) == 6
    assert all(line.count(" | ") == 7 for line in text.splitlines() if line.startswith("| "))


def test_exporting_again_renews_its_own_files_and_leaves_others(mjolnir, place, folder):
    mjolnir("autoresearch", "export", cwd=place.root)
    (folder / "NOTES.md").write_text("mine")
    (folder / "diffs" / "99.diff").write_text("of no row")
    place.append("discard", ratio=1.2)
    assert mjolnir("autoresearch", "export", "--csv").code == 0
    assert names(folder) == sorted([*FILES, "NOTES.md", "ledger.csv"])
    assert "| 6 | " in (folder / "SUMMARY.md").read_text()
    assert not (folder / "diffs" / "99.diff").exists()
    table = list(csv.DictReader(io.StringIO((folder / "ledger.csv").read_text(), newline="")))
    assert [row["id"] for row in table] == ["1", "2", "3", "4", "5", "6"]
    assert table[4]["hypothesis"].startswith("[/=] [bold]x red nul\nnew\tline rtl")
    assert names(folder.parent) == ["oct11"]


@pytest.mark.parametrize("tag", ["../x", "a/b", "", ".", "-x", "x\n", "a" * 99, "/etc", "x.lock"])
def test_a_tag_that_is_no_name_of_a_folder_is_refused(mjolnir, place, tag):
    answer = mjolnir("autoresearch", "export", "--tag", tag, cwd=place.root)
    assert answer.code == 2
    assert [line.split(":")[0] for line in answer.err.splitlines()] == ["error", "hint"]
    assert not (place.root / "research" / "runs").exists()


def test_another_runs_name_is_refused_and_says_which_there_is(mjolnir, place):
    answer = mjolnir("autoresearch", "export", "--tag", "nov", cwd=place.root)
    assert answer.code == 4
    assert answer.err.splitlines()[-1] == "hint: mjolnir autoresearch export --tag oct11"


def test_a_run_is_exported_from_any_branch_by_its_tag_from_its_mirror(mjolnir, place, folder):
    place.git("switch", "-q", "main")
    for name in ("ledger.jsonl", "ledger.tsv"):
        (place.root / "research" / name).unlink()
    assert mjolnir("autoresearch", "export", "--tag", "oct11", cwd=place.root).code == 0
    assert names(folder) == FILES


@pytest.mark.parametrize("is_started", [False, True])
def test_nothing_to_export_is_refused(mjolnir, tmp_path, is_started):
    place = make_place(tmp_path / "r")
    if is_started:
        place.start_run()
    answer = mjolnir("autoresearch", "export", cwd=place.root)
    assert answer.code == 4
    assert answer.err.splitlines()[-1].startswith("hint: mjolnir autoresearch init ")
    assert not (place.root / "research" / "runs").exists()


def test_a_ledger_of_mjolnir_cli_0_2_0_is_exported_under_its_own_or_a_given_name(mjolnir, tmp_path):
    place = make_place(tmp_path / "r")
    (place.root / "research").mkdir()
    (place.root / "research" / "ledger.jsonl").write_bytes(VERSION_0.read_bytes())
    assert mjolnir("autoresearch", "export", cwd=place.root).code == 0
    assert mjolnir("autoresearch", "export", "--tag", "autumn").code == 0
    assert names(place.root / "research" / "runs") == ["autumn", "oct11"]
    assert names(place.root / "research" / "runs" / "autumn") == FILES


@pytest.mark.parametrize("name", ["", "oct11", "oct11/diffs"])
def test_a_link_in_the_way_is_refused_and_nothing_is_written_through_it(mjolnir, place, folder, tmp_path, name):
    outside = tmp_path / "outside"
    outside.mkdir()
    link = place.root / "research" / "runs" / name
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(outside)
    answer = mjolnir("autoresearch", "export", cwd=place.root)
    assert answer.code == 4
    assert "is not a folder" in answer.err
    assert not list(outside.iterdir())


def test_what_a_killed_export_left_is_removed_and_is_no_run(mjolnir, place, folder):
    dead = subprocess.Popen([sys.executable, "-c", "pass"])
    dead.send_signal(signal.SIGKILL)
    dead.wait()
    left = folder.with_name(f".oct11.{dead.pid}.tmp")
    (left / "diffs").mkdir(parents=True)
    (left / "ledger.jsonl").write_text("half")
    assert mjolnir("autoresearch", "export", cwd=place.root).code == 0
    assert names(folder.parent) == ["oct11"]


FULL = """
import resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
from mjolnir.render.chart import draw_progress
from mjolnir.cli import main
resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000))
main(["autoresearch", "export"])
"""


def test_a_full_disk_leaves_the_earlier_export_as_it_was(mjolnir, place, folder):
    mjolnir("autoresearch", "export", cwd=place.root)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    place.append("discard")
    done = subprocess.run([sys.executable, "-c", FULL], cwd=place.root, capture_output=True, text=True)
    assert done.returncode == 4, done.stderr
    assert done.stderr.splitlines()[-2].startswith("error: no room to write ")
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    assert names(folder.parent) == ["oct11"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes into any folder")
def test_a_folder_without_write_permission_is_refused(mjolnir, place):
    runs = place.root / "research" / "runs"
    runs.mkdir()
    runs.chmod(0o555)
    answer = mjolnir("autoresearch", "export", cwd=place.root)
    runs.chmod(0o755)
    assert answer.code == 4
    assert "cannot be written" in answer.err


def test_a_file_where_the_folder_should_be_is_refused(mjolnir, place):
    (place.root / "research" / "runs").write_text("")
    answer = mjolnir("autoresearch", "export", cwd=place.root)
    assert answer.code == 4
    assert HOSTILE not in answer.err
