"""Which scope of a Python file each name belongs to, by the language's own rules, without running anything."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_EVALUATED_OUTSIDE = frozenset({"decorator_list", "args", "returns", "bases", "keywords"})
"""Fields of a function or class that belong to the scope around it."""


@dataclass(slots=True, eq=False, kw_only=True)
class Scope:
    """One block of names. `bound` maps a name to every node that binds it here."""

    kind: str
    """module, function, class or comprehension"""
    node: ast.AST
    parent: Scope | None = None
    bound: dict[str, list[ast.AST]] = field(default_factory=dict)
    parameters: dict[str, ast.arg] = field(default_factory=dict)
    global_names: set[str] = field(default_factory=set)
    nonlocal_names: set[str] = field(default_factory=set)


class ScopeMap:
    """The scopes of one tree. Every walk is a loop, so that deep nesting cannot exhaust the stack."""

    def __init__(self, tree: ast.Module) -> None:
        self.module = Scope(kind="module", node=tree)
        self.inner: dict[ast.AST, Scope] = {tree: self.module}
        self.has_star_import = False
        self.has_rare_syntax = False
        """Type parameters, or `(x): int`: their scopes are not modelled here."""
        self._owner: dict[ast.AST, Scope] = {}
        self._first_generators: set[ast.AST] = set()
        for node, scope in self.walk():
            self._enter(node, scope)
        for scope in self.inner.values():
            self._move_declared(scope)

    def walk(self) -> Iterator[tuple[ast.AST, Scope]]:
        """Every node with the scope that it is evaluated in; a parent comes before its children."""
        stack: list[tuple[ast.AST, Scope]] = [(self.module.node, self.module)]
        while stack:
            node, scope = stack.pop()
            yield node, scope
            for name, value in ast.iter_fields(node):
                inner = self.child_scope(node, name, scope)
                children = value if isinstance(value, list) else [value]
                stack.extend((child, inner) for child in children if isinstance(child, ast.AST))

    def child_scope(self, node: ast.AST, field_name: str, scope: Scope) -> Scope:
        """The scope of what stands in a field of `node`, which itself is in `scope`."""
        if isinstance(node, ast.comprehension):
            is_outside = field_name == "iter" and node in self._first_generators
            return scope.parent if is_outside and scope.parent else scope
        if field_name in _EVALUATED_OUTSIDE:
            return scope
        return self.inner.get(node, scope)

    def scope_of_binding(self, node: ast.AST, scope: Scope) -> Scope:
        """Where `node` (a parameter, or a walrus target in a comprehension) binds; `scope` for anything else."""
        return self._owner.get(node, scope)

    def resolve(self, name: str, scope: Scope) -> Scope | None:
        """The scope that `name`, used in `scope`, belongs to; None: a builtin, or nothing at all."""
        at: Scope | None = scope
        while at is not None and at is not self.module:
            if name in at.global_names:
                break
            # The names of a class body are invisible to the functions inside it.
            if name in at.bound and (at.kind != "class" or at is scope):
                return at
            at = at.parent
        return self.module if name in self.module.bound else None

    def _enter(self, node: ast.AST, scope: Scope) -> None:
        if isinstance(node, _FUNCTIONS):
            self._enter_function(node, scope)
        elif isinstance(node, _COMPREHENSIONS):
            self.inner[node] = Scope(kind="comprehension", node=node, parent=scope)
            self._first_generators.add(node.generators[0])
        elif isinstance(node, ast.ClassDef):
            self.inner[node] = Scope(kind="class", node=node, parent=scope)
        is_unbound = isinstance(node, ast.AnnAssign) and not node.simple and node.value is None
        if is_unbound or getattr(node, "type_params", None) or type(node).__name__ == "TypeAlias":
            self.has_rare_syntax = True
        self._declare(node, scope)

    def _enter_function(self, node: Function, scope: Scope) -> None:
        inner = self.inner[node] = Scope(kind="function", node=node, parent=scope)
        spec = node.args
        for arg in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs, spec.vararg, spec.kwarg):
            if arg is not None:
                self._owner[arg] = inner
                inner.parameters[arg.arg] = arg
                _bind(inner, arg.arg, arg)

    def _declare(self, node: ast.AST, scope: Scope) -> None:
        match node:
            case ast.NamedExpr(target=ast.Name() as target):
                self._owner[target] = _around_comprehensions(scope)
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                _bind(self._owner.get(node, scope), name, node)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                _bind(scope, name, node)
            case ast.alias(name=name, asname=asname):
                self.has_star_import |= name == "*"
                _bind(scope, asname or name.partition(".")[0], node)
            case ast.Global(names=names):
                scope.global_names.update(names)
            case ast.Nonlocal(names=names):
                scope.nonlocal_names.update(names)
            case _:
                captured = captured_name(node)
                if captured is not None:
                    _bind(scope, captured, node)

    def _move_declared(self, scope: Scope) -> None:
        """Bindings of `global` and `nonlocal` names go to the scope that they really bind in."""
        for name in scope.global_names & scope.bound.keys():
            if scope is not self.module:
                self.module.bound.setdefault(name, []).extend(scope.bound.pop(name))
        for name in scope.nonlocal_names & scope.bound.keys():
            nodes = scope.bound.pop(name)
            owner = self.resolve(name, scope) or scope
            owner.bound.setdefault(name, []).extend(nodes)


def captured_name(node: ast.AST) -> str | None:
    """The name that an `except ... as` or a match pattern binds."""
    if isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar):
        return node.name
    return node.rest if isinstance(node, ast.MatchMapping) else None


def _bind(scope: Scope, name: str, node: ast.AST) -> None:
    scope.bound.setdefault(name, []).append(node)


def _around_comprehensions(scope: Scope) -> Scope:
    while scope.kind == "comprehension" and scope.parent is not None:
        scope = scope.parent
    return scope
