"""A kernel's program as one number: equal for two texts that differ in comments, layout, docstrings or names alone.

The rule "one program is measured once" compares this hash. Two texts with one hash behave alike; two hashes may still
belong to one behaviour, since nobody can decide that in general.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from typing import Any, TypeAlias

from mjolnir.core.kernel_ast import parse_kernel
from mjolnir.core.renaming import Renaming, is_bare_constant
from mjolnir.core.scopes import Scope, ScopeMap, captured_name

_AST_PREFIX = b"mjolnir program 1\n"
_BYTES_PREFIX = b"mjolnir bytes 1\n"
_SILENT_FIELDS = frozenset({"ctx", "type_comment", "type_ignores", "kind"})
_BLOCKS = frozenset({"body", "orelse", "finalbody"})
_END = b";"

_Part: TypeAlias = bytes | tuple[Any, Scope]


def program_hash(source: bytes) -> str:
    """Lower-case hex sha256 of the program in `source`; of its bytes, under another prefix, when it does not parse."""
    tree = parse_kernel(source)
    if tree is None:
        return hashlib.sha256(_BYTES_PREFIX + source).hexdigest()
    return _Writer(tree).digest()


class _Writer:
    """Feeds a tree to the hash in a form of its own: `ast.dump` and field lists change between Python versions."""

    def __init__(self, tree: ast.Module) -> None:
        self._scopes = ScopeMap(tree)
        self._renaming = Renaming(tree, self._scopes)
        self._tree = tree
        self._scope_numbers: dict[Scope, int] = {}
        self._symbol_numbers: dict[tuple[Scope, str], int] = {}

    def digest(self) -> str:
        sha = hashlib.sha256(_AST_PREFIX)
        # A loop with its own stack: a chain of a thousand operators is a thousand nodes deep.
        stack: list[_Part] = [(self._tree, self._scopes.module)]
        while stack:
            part = stack.pop()
            if isinstance(part, bytes):
                sha.update(part)
            else:
                stack.extend(reversed(list(self._expand(*part))))
        return sha.hexdigest()

    def _expand(self, value: Any, scope: Scope) -> Iterator[_Part]:
        if isinstance(value, ast.AST):
            yield _token("N", type(value).__name__)
            yield from self._fields(value, scope)
            yield _END
        elif isinstance(value, list):
            yield _token("L", "")
            yield from ((item, scope) for item in value)
            yield _END
        else:
            yield _constant(value)

    def _fields(self, node: ast.AST, scope: Scope) -> Iterator[_Part]:
        if isinstance(node, ast.alias):
            yield from self._import_fields(node, scope)
            return
        for name, value in ast.iter_fields(node):
            if name in _BLOCKS and isinstance(value, list):
                value = [statement for statement in value if not self._is_silent(statement)]
            # Fields that are absent, None or empty are not written: newer versions of Python add such.
            if name in _SILENT_FIELDS or value is None or value == []:
                continue
            yield _token("F", name)
            symbol = self._symbol(node, name, value, scope)
            yield symbol if symbol is not None else (value, self._scopes.child_scope(node, name, scope))

    def _is_silent(self, statement: ast.AST) -> bool:
        """Nothing happens there. Whom `global` and `nonlocal` name is told at each use."""
        if self._renaming.is_reflective:
            return False
        is_empty = isinstance(statement, ast.Pass | ast.Global | ast.Nonlocal) or is_bare_constant(statement)
        return is_empty or statement in self._renaming.dropped

    def _symbol(self, node: ast.AST, field: str, value: Any, scope: Scope) -> bytes | None:
        """What stands for a name of this program in a field that holds one; None for any other field."""
        match node, field:
            case (ast.Name(), "id") | (ast.arg(), "arg"):
                return self._name(value, self._scopes.scope_of_binding(node, scope))
            case (ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef(), "name"):
                return self._name(value, scope)
            case (ast.keyword(), "arg") if node in self._renaming.parameter_scope:
                return self._name(value, self._renaming.parameter_scope[node])
            case (_, "name" | "rest") if captured_name(node) is not None:
                return self._name(value, scope)
        return None

    def _import_fields(self, node: ast.alias, scope: Scope) -> Iterator[bytes]:
        top, dot, _ = node.name.partition(".")
        yield _token("F", "name")
        yield _token("s", node.name)
        # `import a.b` binds a, `import a.b as c` binds b.
        yield _token("F", "binds_top" if dot and not node.asname else "binds")
        yield self._name(node.asname or top, scope)

    def _name(self, name: str, scope: Scope) -> bytes:
        owner = self._scopes.resolve(name, scope)
        if owner is None:
            return _token("B", name)
        scope_number = self._scope_numbers.setdefault(owner, len(self._scope_numbers))
        if not self._renaming.may_rename(name, owner):
            return _token("K", f"{scope_number} {name}")
        number = self._symbol_numbers.setdefault((owner, name), len(self._symbol_numbers))
        return _token("S", f"{scope_number} {number}")


def _constant(value: Any) -> bytes:
    match value:
        case bool() | None:
            return _token("c", str(value))
        case int():
            # In hexadecimal: decimal conversion of huge numbers is limited.
            return _token("i", format(value, "x"))
        case float():
            return _token("f", value.hex())
        case complex():
            return _token("j", f"{value.real.hex()} {value.imag.hex()}")
        case str():
            return _token("s", value)
        case bytes():
            return _token("b", value.hex())
        case _:
            return _token("o", type(value).__name__)


def _token(kind: str, text: str) -> bytes:
    data = text.encode("utf-8", "surrogatepass")
    return f"{kind}{len(data)}:".encode() + data
