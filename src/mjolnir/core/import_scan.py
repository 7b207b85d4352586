"""Reads a kernel file's imports before anything of it runs: what is outside the allow-list, and what looks odd.

The wall around a kernel is its process, not this list: whoever wants to can hide an import from any reader. What is
found here is plain to see, and refused with its line; a name that merely looks suspicious is a note on the row.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from mjolnir.core.import_policy import CLOCK_WORDS, CPU, FOREIGN_CALLS, GPU, MACHINERY, REFUSED_PARTS, ImportPolicy
from mjolnir.core.kernel_ast import parse_kernel
from mjolnir.core.scopes import Scope, ScopeMap

MAX_FINDINGS = 50
"""Of each kind; a file with more tells nothing new."""
_MAX_TEXT = 80
_MAX_CHAIN = 30

_ODD_BUILTINS = {
    "eval": "runs text as code",
    "exec": "runs text as code",
    "compile": "runs text as code",
    "open": "reads or writes a file",
    "breakpoint": "stops for a debugger",
    "globals": "looks at its own names",
    "locals": "looks at its own names",
    "vars": "looks at the names of an object",
}
_ODD_ATTRIBUTES = frozenset(
    {
        "__globals__",
        "__subclasses__",
        "__code__",
        "__closure__",
        "__mro__",
        "__bases__",
        "__getattribute__",
        "__reduce__",
    }
    | {"_getframe", "f_back", "f_locals", "f_globals", "f_builtins", "gi_frame", "cr_frame", "tb_frame", "co_consts"}
)
_FILE_FUNCTIONS = frozenset(
    {
        "load",
        "save",
        "savez",
        "savez_compressed",
        "savetxt",
        "loadtxt",
        "genfromtxt",
        "fromfile",
        "memmap",
        "DataSource",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Finding:
    """A place in the file. `text` is the agent's: data, never markup."""

    line: int
    text: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanResult:
    """`forbidden` refuses the kernel (E_IMPORT) before it runs; `notes` are only said. Both by line."""

    forbidden: tuple[Finding, ...] = ()
    notes: tuple[Finding, ...] = ()


def scan_imports(source: bytes, *, gpu: bool) -> ScanResult:
    """What a kernel file imports beyond the allow-list of its target, in whatever words.

    gpu  torch and triton are allowed instead of numpy, numba and ml_dtypes

    A file that does not parse has no findings: it becomes a crash when it is run. Never raises.
    """
    tree = parse_kernel(source)
    if tree is None:
        return ScanResult()
    return _Scan(tree, GPU if gpu else CPU).result()


class _Scan:
    def __init__(self, tree: ast.Module, policy: ImportPolicy) -> None:
        self._policy = policy
        self._scopes = ScopeMap(tree)
        self._forbidden: set[Finding] = set()
        self._notes: set[Finding] = set()
        self._sources: dict[ast.AST, tuple[str, str]] = {}
        self._values: dict[ast.AST, ast.expr] = {}
        """What a name was assigned, by the node that binds it."""
        for node, _ in self._scopes.walk():
            self._remember(node)
        for node, scope in self._scopes.walk():
            self._look_at(node, scope)

    def result(self) -> ScanResult:
        forbidden, notes = (tuple(sorted(found)[:MAX_FINDINGS]) for found in (self._forbidden, self._notes))
        return ScanResult(forbidden=forbidden, notes=notes)

    def _remember(self, node: ast.AST) -> None:
        match node:
            case ast.ImportFrom(module=str(module), names=names, level=0):
                self._sources.update((alias, (module, alias.name)) for alias in names)
            case ast.Assign(targets=targets, value=value):
                self._values.update((target, value) for target in targets)
            case ast.AnnAssign(target=target, value=ast.expr() as value) | ast.NamedExpr(target=target, value=value):
                self._values[target] = value

    def _look_at(self, node: ast.AST, scope: Scope) -> None:
        match node:
            case ast.Import(names=names):
                for alias in names:
                    self._look_at_module(alias, alias.name, f"import {alias.name}")
            case ast.ImportFrom(names=names):
                for alias in names:
                    self._look_at_import_from(node, alias)
            case ast.Attribute(value=value, attr=attribute):
                self._look_at_attribute(node, value, attribute, scope)
            case ast.Name(id=name):
                self._look_at_name(node, name, scope)
            case ast.Constant(value=str(text)) if text in MACHINERY and text.startswith("__"):
                self._refuse(node, repr(text), "an import by other words")
            case ast.Constant(value=str() | bytes() as text) if text.lower() in CLOCK_WORDS:
                self._note(node, repr(text), "numpy reads the clock from this word")
            case ast.Call(func=ast.Name(id="getattr" | "setattr" | "delattr" as name), args=[owner, key, *_]):
                self._look_at_named_attribute(node, name, owner, key, scope)

    def _look_at_module(self, node: ast.AST, module: str, text: str) -> bool:
        if self._policy.allows(module):
            return True
        self._refuse(node, text, f"{module} is outside the allow-list ({', '.join(self._policy.roots)})")
        return False

    def _look_at_import_from(self, node: ast.ImportFrom, alias: ast.alias) -> None:
        module, name = node.module or "", alias.name
        text = f"from {'.' * node.level}{module} import {name}"
        if node.level:
            self._refuse(alias, text, "a kernel is one file: nothing can be imported beside it")
        elif self._policy.allows(f"{module}.{name}"):
            return
        elif self._look_at_module(alias, module, text):
            self._look_at_part(alias, module, name, text)

    def _look_at_part(self, node: ast.AST, path: str, attribute: str, text: str) -> None:
        """`path` is what an import names; is its `attribute` a module, or another way to one?"""
        reached = self._policy.reached(path, attribute)
        if reached:
            self._refuse(node, text, f"reaches {reached}, which is outside the allow-list")
        elif attribute in FOREIGN_CALLS:
            self._refuse(node, text, "calls into another library")
        elif why := REFUSED_PARTS.get(f"{path}.{attribute}"):
            self._refuse(node, text, why)
        elif path == "numpy" and attribute in _FILE_FUNCTIONS:
            self._note(node, text, "reads or writes a file")
        elif attribute == "__dict__":
            self._note(node, text, "looks at the names of a module")

    def _look_at_attribute(self, node: ast.Attribute, value: ast.expr, attribute: str, scope: Scope) -> None:
        path = self._path(value, scope)
        text = f"{path or _shown(value)}.{attribute}"
        if attribute in MACHINERY:
            self._refuse(node, text, "an import by other words")
        elif path:
            self._look_at_part(node, path, attribute, text)
            if not isinstance(node.ctx, ast.Load):
                self._note(node, text, "changes a module that is not its own")
        elif attribute in FOREIGN_CALLS:
            self._refuse(node, text, "calls into another library")
        if attribute in _ODD_ATTRIBUTES:
            self._note(node, text, "looks behind the scenes of the interpreter")

    def _look_at_name(self, node: ast.AST, name: str, scope: Scope) -> None:
        if self._scopes.resolve(name, scope) is not None:
            return
        if name in MACHINERY and name.startswith("__"):
            self._refuse(node, name, "an import by other words")
        elif name in _ODD_BUILTINS:
            self._note(node, name, _ODD_BUILTINS[name])
        elif self._scopes.has_star_import and (reached := self._policy.reached(self._policy.roots[0], name)):
            self._refuse(node, name, f"reaches {reached}, which is outside the allow-list")

    def _look_at_named_attribute(
        self, node: ast.Call, function: str, owner: ast.expr, key: ast.expr, scope: Scope
    ) -> None:
        path = self._path(owner, scope)
        if isinstance(key, ast.Constant) and isinstance(key.value, str):
            text = f"{function}({path or _shown(owner)}, {key.value!r})"
            if path:
                self._look_at_part(node, path, key.value, text)
            elif key.value in FOREIGN_CALLS:
                self._refuse(node, text, "calls into another library")
        elif path or function == "getattr":
            text = f"{function}({path or _shown(owner)}, ...)"
            self._note(node, text, "a computed name: what it reaches cannot be read")
        if path and function != "getattr":
            self._note(node, f"{function}({path}, ...)", "changes a module that is not its own")

    def _path(self, value: ast.expr, scope: Scope) -> str:
        """The dotted name of what `value` is when it comes from an import, "np.lib" -> "numpy.lib"; else empty."""
        attributes: list[str] = []
        for _ in range(_MAX_CHAIN):
            if isinstance(value, ast.Attribute):
                attributes.append(value.attr)
                value = value.value
                continue
            if not isinstance(value, ast.Name):
                break
            owner = self._scopes.resolve(value.id, scope)
            bound = owner.bound.get(value.id, []) if owner else []
            path = next(filter(None, map(self._imported, bound)), "")
            if path:
                for attribute in reversed(attributes):
                    path = self._policy.follow(path, attribute)
                return path
            assigned = [self._values[node] for node in bound if node in self._values]
            if owner is None or not assigned:
                break
            value, scope = assigned[0], owner
        return ""

    def _imported(self, node: ast.AST) -> str:
        """The module, or its part, that an import statement's alias binds."""
        if not isinstance(node, ast.alias):
            return ""
        if node in self._sources:
            return self._policy.follow(*self._sources[node])
        return node.name if node.asname else node.name.partition(".")[0]

    def _refuse(self, node: ast.AST, text: str, why: str) -> None:
        self._forbidden.add(_finding(node, text, why))

    def _note(self, node: ast.AST, text: str, why: str) -> None:
        self._notes.add(_finding(node, text, why))


def _shown(value: ast.expr) -> str:
    return value.id if isinstance(value, ast.Name) else "(...)"


def _finding(node: ast.AST, text: str, why: str) -> Finding:
    return Finding(line=getattr(node, "lineno", 1), text=text[:_MAX_TEXT], why=why[: 2 * _MAX_TEXT])
