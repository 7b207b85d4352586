from __future__ import annotations

from mjolnir.store.fingerprint import harness_hash


def a_package(folder):
    (folder / "core").mkdir(parents=True)
    (folder / "core" / "judge.py").write_text("KEEP = 0.02\n")
    (folder / "cli.py").write_text("main = 1\n")
    return folder


def test_it_is_the_same_twice_and_has_the_form_of_a_sha256():
    assert harness_hash() == harness_hash()
    assert len(harness_hash()) == 64


def test_byte_code_does_not_change_it(tmp_path):
    package = a_package(tmp_path / "p")
    before = harness_hash(package)
    (package / "core" / "__pycache__").mkdir()
    (package / "core" / "__pycache__" / "judge.cpython-311.pyc").write_bytes(b"x")
    assert harness_hash(package) == before


def test_where_the_package_lies_does_not_change_it(tmp_path):
    assert harness_hash(a_package(tmp_path / "p")) == harness_hash(a_package(tmp_path / "elsewhere" / "q"))


def test_any_edit_addition_removal_or_new_name_changes_it(tmp_path):
    seen = {harness_hash(a_package(tmp_path / "p"))}

    def edit(name, change):
        package = a_package(tmp_path / name)
        change(package)
        return harness_hash(package)

    seen.add(edit("a", lambda p: (p / "core" / "judge.py").write_text("KEEP = 0.00\n")))
    seen.add(edit("b", lambda p: (p / "data.txt").write_text("")))
    seen.add(edit("c", lambda p: (p / "cli.py").unlink()))
    seen.add(edit("d", lambda p: (p / "cli.py").rename(p / "cli2.py")))
    seen.add(edit("e", lambda p: (p / "cli.py").rename(p / "core" / "cli.py")))
    assert len(seen) == 6
