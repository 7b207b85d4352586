"""Scopes agree with the interpreter's own symbol table, on code that nobody wrote for this test."""

from __future__ import annotations

import ast
import inspect
import symtable
from collections import Counter
from importlib import import_module

import pytest

from mjolnir.core.scopes import ScopeMap

MODULES = ("argparse", "ast", "dataclasses", "enum", "functools", "inspect", "pickle", "random", "statistics", "typing")


def tables_of(source):
    tables = [symtable.symtable(source, "source", "exec")]
    for table in tables:
        tables.extend(table.get_children())
    return tables


def names_bound_by_the_interpreter(source):
    """One set of names for each block but the module; names with an underscore in front may be mangled there."""
    return Counter(
        frozenset(
            s.get_name()
            for s in table.get_symbols()
            if s.is_local()
            and (s.is_assigned() or s.is_parameter() or s.is_imported())
            and not s.get_name().startswith((".", "_"))
        )
        for table in tables_of(source)
        if str(table.get_type()) in ("function", "class")
    )


def names_bound_here(source):
    scopes = ScopeMap(ast.parse(source))
    return Counter(
        frozenset(name for name in scope.bound if not name.startswith("_"))
        for scope in scopes.inner.values()
        if scope.kind != "module"
    )


@pytest.mark.parametrize("name", MODULES)
def test_every_block_of_the_standard_library_binds_the_names_that_the_interpreter_says(name):
    source = inspect.getsource(import_module(name))
    assert names_bound_here(source) == names_bound_by_the_interpreter(source)


def test_a_use_is_resolved_past_class_bodies_and_through_declarations():
    tree = ast.parse(
        "n = 0\nclass C:\n n = 1\n def f(self):\n  return n\n"
        "def g():\n n = 2\n def h():\n  global n\n  n = 3\n  return [n for _ in n]\n"
    )
    scopes = ScopeMap(tree)
    kinds = [
        (node.lineno, owner.kind)
        for node, scope in scopes.walk()
        if isinstance(node, ast.Name) and node.id == "n" and (owner := scopes.resolve("n", scope))
    ]
    assert sorted(kinds) == [
        (1, "module"),
        (3, "class"),
        (5, "module"),
        (7, "function"),
        (10, "module"),
        (11, "module"),
        (11, "module"),
    ]
