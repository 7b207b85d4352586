"""The table of attacks in this folder's conftest names tests that exist, and no test of this folder is left out."""

from __future__ import annotations

import ast
from pathlib import Path

FOLDER = Path(__file__).parent
OUTSIDE = ("test_attack_table.py", "test_refusal_codes.py")


def named_tests():
    """Every file::name in the last column of the table."""
    text = ast.get_docstring(ast.parse((FOLDER / "conftest.py").read_text()))
    rows = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("| ")][1:]
    assert len(rows) > 50
    assert all(len(row) == 3 for row in rows)
    return [row[-1].strip() for row in rows]


def find_tests(path):
    """The names of a file's test functions."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")}


def test_every_attack_of_the_table_names_a_test_that_exists():
    missing = []
    for named in named_tests():
        file, _, name = named.partition("::")
        path = FOLDER.parent / file
        if not path.is_file() or name not in find_tests(path):
            missing.append(named)
    assert missing == []


def test_every_file_of_this_folder_has_its_attacks_in_the_table():
    files = {path.name for path in FOLDER.glob("test_*.py")} - set(OUTSIDE)
    assert files == {Path(named.partition("::")[0]).name for named in named_tests() if named.startswith(FOLDER.name)}
