import json

import pytest
from store_place import TAG, an_experiment, finish_child, start_child

from mjolnir.core.model import Status
from mjolnir.errors import Refused, UsageFault
from mjolnir.store.ledger import open_ledger, remove_ledger, start_ledger
from mjolnir.store.ledger_files import find_tag, ledger_owner


def test_rows_come_back_as_they_were_recorded_newest_last(place):
    written = place.fill(3)
    ledger = place.open()
    assert [row.id for row in written] == [1, 2, 3]
    assert ledger.rows() == written
    assert ledger.tail(2) == written[1:]
    assert ledger.row(2) == written[1]
    assert ledger.row(9) is None
    assert ledger.count() == 3
    assert [(g.id, g.status, g.score) for g in ledger.glances()] == [(n, Status.DISCARD, 1.234567) for n in (1, 2, 3)]
    assert ledger.notices == []
    assert ledger.problem is None


def test_each_row_carries_the_hash_of_the_row_before_it(place):
    first, second = place.fill(2)
    assert first.prev is None
    assert second.prev == first.hash
    assert (first.schema, first.run) == ("mjolnir.ledger/1", TAG)
    assert place.open().verify().ok


def test_an_empty_ledger_is_no_error(place):
    for ledger in (place.open(), place.start()):
        assert ledger.rows() == []
        assert ledger.tail(5) == []
        assert ledger.check().ok
        assert ledger.verify().ok
        assert ledger.notices == []


def test_the_mirror_under_the_git_directory_holds_the_same_bytes(place):
    place.fill(3)
    assert place.mirror.read_bytes() == place.ledger.read_bytes()


def test_the_anchor_is_private_and_outside_the_repository(place):
    place.fill(2)
    assert place.anchor.stat().st_mode & 0o777 == 0o600
    assert place.root not in place.anchor.parents
    assert json.loads(place.anchor.read_text())["rows"] == 2


@pytest.mark.parametrize(
    "text",
    [
        "",
        "tabs\tand\nnewlines\r\n",
        "markup [/=] [bold]",
        "\x1b[31mred\x1b[0m",
        "nul \x00 byte",
        "löß 漢字 🚀",
        "\udcff",
        "x" * 2**20,
    ],
    ids=["empty", "tabs", "markup", "escapes", "nul", "unicode", "half a surrogate pair", "1 MB"],
)
def test_a_hypothesis_of_any_kind_comes_out_the_same(place, text):
    place.start().append(an_experiment(text))
    ledger = place.open()
    ledger.append(an_experiment("after it"))
    assert [row.hypothesis for row in ledger.rows()] == [text, "after it"]
    assert ledger.tail(2)[0].hypothesis == text
    assert ledger.raw_row(1)["hypothesis"] == text
    assert len(ledger.glances()) == 2
    assert ledger.verify().ok


def test_a_row_that_json_cannot_hold_is_not_written(place):
    place.fill(1)
    with pytest.raises(ValueError, match="JSON"):
        place.open().append(an_experiment(score=float("nan")))
    assert place.open().count() == 1
    assert place.open().check().ok


def test_the_clock_may_go_back(place):
    ledger = place.start()
    ledger.append(an_experiment("later", ts="2025-10-12T00:00:00+00:00"))
    ledger.append(an_experiment("earlier", ts="2025-10-11T00:00:00+00:00"))
    assert [row.hypothesis for row in place.open().rows()] == ["later", "earlier"]
    assert place.open().verify().ok


def test_keys_of_a_later_version_are_read_past_and_stay_in_the_file(place):
    place.fill(1)
    row = json.loads(place.ledger.read_text()) | {"confirm": {"m": 3, "se": 0.01}}
    line = json.dumps(row)
    place.ledger.write_text(line + "\n")
    place.mirror.unlink()
    place.anchor.unlink()
    ledger = place.open()
    assert ledger.rows()[0].id == 1
    assert ledger.raw_rows()[0]["confirm"] == {"m": 3, "se": 0.01}
    assert place.ledger.read_text() == line + "\n"


def test_the_tag_is_the_branchs_else_the_rows(place):
    assert find_tag(place.root, "autoresearch/nov2") == "nov2"
    assert find_tag(place.root, "main") is None
    place.fill(1)
    assert find_tag(place.root, "main") == TAG
    assert find_tag(place.root, None) == TAG
    assert ledger_owner(place.root) == TAG


@pytest.mark.parametrize("tag", ["", "a/b", "..", "a..b", ".hidden", "-x", "a b", "a\nb", "x.lock", "x" * 65])
def test_a_tag_that_cannot_name_a_folder_is_refused(place, tag):
    with pytest.raises(UsageFault):
        start_ledger(place.root, place.common_dir, tag=tag)


def test_a_ledger_of_another_run_is_refused_with_a_way_out(place):
    place.fill(1)
    with pytest.raises(Refused) as refusal:
        open_ledger(place.root, place.common_dir, tag="nov2")
    assert refusal.value.code == "E_LEDGER"
    assert f"export --tag {TAG}" in refusal.value.hint
    with pytest.raises(Refused, match=TAG):
        start_ledger(place.root, place.common_dir, tag="nov2")
    assert place.open().count() == 1


def test_a_tag_that_had_rows_is_not_used_again(place):
    place.fill(1)
    place.ledger.unlink()
    with pytest.raises(Refused, match="used before"):
        place.start()


def test_a_failed_init_leaves_no_ledger_behind(place):
    place.fill(1)
    remove_ledger(place.root, place.common_dir, tag=TAG)
    assert not place.ledger.exists()
    assert not place.view.exists()
    assert not place.anchor.exists()
    assert place.fill(1)[0].id == 1


def test_undoing_a_run_leaves_another_runs_rows_alone(place):
    place.fill(1)
    remove_ledger(place.root, place.common_dir, tag="nov2")
    assert place.open().count() == 1


@pytest.mark.parametrize("kind", ["link", "folder", "link to research", "file for research"])
def test_a_ledger_that_is_no_file_is_refused(place, tmp_path, kind):
    other = tmp_path / "elsewhere"
    other.mkdir()
    if kind == "link to research":
        (place.root / "research").symlink_to(other)
    elif kind == "file for research":
        (place.root / "research").write_text("")
    else:
        (place.root / "research").mkdir()
        place.ledger.symlink_to(other / "ledger") if kind == "link" else place.ledger.mkdir()
    with pytest.raises(Refused) as refusal:
        place.open()
    assert refusal.value.code == "E_LEDGER"
    assert "mv " in refusal.value.hint


def test_reading_alone_creates_nothing(place):
    place.open().check()
    assert list(place.root.rglob("*")) == [place.common_dir]
    assert not place.anchor.exists()


def test_a_machine_without_a_state_folder_says_so_and_goes_on(place, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file" / "state"))
    ledger = place.start()
    ledger.append(an_experiment("one"))
    ledger.append(an_experiment("two"))
    assert any("no anchor" in notice for notice in ledger.notices)
    assert [row.id for row in place.open().rows()] == [1, 2]
    assert place.open().verify().ok


def test_eight_processes_get_eight_different_ids(place):
    place.start()
    ids = race(place, writers=8, rows=5)
    assert sorted(ids) == list(range(1, 41))
    assert place.open().verify().ok
    assert place.view.read_text().count("\n") == 41


@pytest.mark.slow
def test_eight_processes_race_through_many_rows(place):
    place.start()
    assert sorted(race(place, writers=8, rows=100)) == list(range(1, 801))
    assert place.open().verify().ok


def race(place, *, writers, rows):
    """Ids that so many processes got, all running at once."""

    def write(writer):
        return [place.open().append(an_experiment(f"{writer}.{n}")).id for n in range(rows)]

    children = [start_child(lambda n=n: write(n)) for n in range(writers)]
    return [row_id for child in children for row_id in finish_child(child)["answer"]]
