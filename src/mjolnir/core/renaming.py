"""Which names of a kernel mean the same under any other name, and which reach the outside and must stay.

In doubt a name stays: then a mere renaming counts as another program and is measured once more, which costs a minute.
The other mistake, taking two programs for one, would refuse an honest experiment.
"""

from __future__ import annotations

import ast
import builtins

from mjolnir.core.scopes import Scope, ScopeMap

ENTRY = "decode"
"""The harness calls it by name and with keywords."""

_READS_NAMES = frozenset({"globals", "locals", "vars", "dir", "eval", "exec", "compile", "breakpoint"})
_TAKES_A_NAME = frozenset({"getattr", "setattr", "hasattr", "delattr"})
_REVEALING = frozenset(
    {"modules", "inspect", "currentframe", "signature", "getmembers", "getsource", "stack", "get_type_hints"}
    | {"_getframe", "gc", "get_objects"}
)
"""Attributes through which a program can see the names of its own functions and variables."""
_FRAME_PREFIXES = ("f_", "gi_", "cr_", "ag_", "tb_", "co_")
_BLIND_DUNDERS = frozenset(
    {"__init__", "__new__", "__call__", "__len__", "__getitem__", "__setitem__", "__enter__", "__exit__", "__iter__"}
    | {"__array__", "__array_interface__", "__cuda_array_interface__", "__array_ufunc__", "__array_function__"}
    | {"__name__", "__debug__", "__all__"}
)
"""Double-underscore names that tell nothing about variables (`__name__` alone is the module's)."""
_KNOWN_MODULES = frozenset(
    {"numpy", "numba", "ml_dtypes", "torch", "triton", "math", "typing", "functools", "dataclasses", "itertools"}
    | {"enum", "__future__"}
)
_PLAIN_DECORATORS = frozenset(
    {"njit", "jit", "vectorize", "guvectorize", "cache", "lru_cache", "autotune", "heuristics"}
)
"""They look at a function's code, not at its parameters' names (but in strings and keywords, which are kept)."""
_COMPILERS = frozenset({"njit", "jit", "cfunc"})
"""numba's, whose second argument may name variables."""


class Renaming:
    """What may be renamed in one tree, and which statements say nothing."""

    def __init__(self, tree: ast.Module, scopes: ScopeMap) -> None:
        self.parameter_scope: dict[ast.keyword, Scope] = {}
        """For a keyword of a call to a function of this file: the scope whose parameter it names."""
        self.dropped: set[ast.AST] = set()
        """Statements at module level that bind a literal to a name nobody reads."""
        self._scopes = scopes
        self._strings: set[str] = set()
        self._keywords: set[str] = set()
        """Names that a call of an unknown function gives as a keyword."""
        self._spells_locals = False
        """True when a compiler is told of variables by their names: `njit(locals={"acc": ...})`, `objmode(acc=...)`."""
        self._loaded: set[str] = set()
        self._fixed_functions: set[Scope] = set()
        self._opaque_functions: set[Scope] = set()
        self._called: set[ast.AST] = set()
        self._harmless: set[ast.AST] = set()
        self._class_names = {name for s in scopes.inner.values() if s.kind == "class" for name in s.bound}
        self._fixes_all_parameters = not _is_one_function(scopes.module.bound.get(ENTRY, []))
        self.is_reflective = scopes.has_star_import or scopes.has_rare_syntax
        """The program can see its own names: none may change, and docstrings count."""
        for node, scope in scopes.walk():
            self._look_at(node, scope)
        self._drop_unread_literals(tree)
        self._keep_strings(tree)

    def may_rename(self, name: str, owner: Scope) -> bool:
        """True when no behaviour depends on how `owner` calls its name `name`."""
        if self.is_reflective or owner.kind == "class":
            return False
        if name in owner.parameters:
            is_named = name in self._strings or (isinstance(owner.node, ast.Lambda) and name in self._keywords)
            return not (is_named or self._fixes_all_parameters or owner in self._fixed_functions)
        if owner.kind != "module":
            return not (self._spells_locals and name in self._strings | self._keywords)
        # A class body and a deleted name fall back on globals and on builtins of the same name.
        is_special = name == ENTRY or name.startswith("__") or hasattr(builtins, name)
        return not is_special and name not in self._class_names | self._strings

    def _look_at(self, node: ast.AST, scope: Scope) -> None:
        match node:
            case ast.Call():
                self._look_at_call(node, scope)
            case ast.ClassDef(keywords=keywords):
                self._keywords.update(k.arg for k in keywords if k.arg)
            case ast.Name(id=name):
                self._look_at_name(node, name, scope)
            case ast.Attribute(attr=name):
                self.is_reflective |= name in _REVEALING or name.startswith(_FRAME_PREFIXES) or _is_telling(name)
                self.is_reflective |= name == "__name__"
                self._spells_locals |= name == "objmode"
            case ast.Import(names=names):
                self.is_reflective |= any(a.name.partition(".")[0] not in _KNOWN_MODULES for a in names)
            case ast.ImportFrom(module=module, names=names):
                root = (module or "").partition(".")[0]
                self.is_reflective |= root not in _KNOWN_MODULES or any(a.name in _REVEALING for a in names)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
                self._look_at_function(node, scope)
            case ast.arg(arg=name):
                self.is_reflective |= _is_telling(name)

    def _look_at_name(self, node: ast.AST, name: str, scope: Scope) -> None:
        owner = self._scopes.resolve(name, self._scopes.scope_of_binding(node, scope))
        if owner is self._scopes.module and isinstance(getattr(node, "ctx", None), ast.Load):
            self._loaded.add(name)
        self._spells_locals |= name == "objmode"
        is_reader = name in _READS_NAMES or (name in _TAKES_A_NAME and node not in self._harmless)
        self.is_reflective |= _is_telling(name) or (owner is None and is_reader)
        if node not in self._called and (function := self._function(name, owner)) is not None:
            # Handed on as a value: whoever gets it may call it with keywords.
            self._fixed_functions.add(function)

    def _look_at_call(self, call: ast.Call, scope: Scope) -> None:
        # kernel[grid](...) is Triton's way to call.
        self._called.add(call.func.value if isinstance(call.func, ast.Subscript) else call.func)
        match call:
            case ast.Call(func=ast.Name(id=name) as func, args=[_, ast.Constant(value=str(text)), *_]):
                if name in _TAKES_A_NAME and not text.startswith(("__", *_FRAME_PREFIXES)) and text not in _REVEALING:
                    self._harmless.add(func)
        has_unseen = len(call.args) > 1 or any(isinstance(a, ast.Starred) for a in call.args)
        self._spells_locals |= has_unseen and _last_name(call.func) in _COMPILERS
        callee = self._callee(call, scope)
        for keyword in call.keywords:
            self._spells_locals |= keyword.arg == "locals"
            if keyword.arg is None:
                self._fix_parameters(callee)
            elif callee is not None and _takes_keyword(callee, keyword.arg):
                self.parameter_scope[keyword] = callee
            else:
                self._keywords.add(keyword.arg)

    def _fix_parameters(self, callee: Scope | None) -> None:
        """A call with `**options`: any keyword, to this function or to one that we do not know."""
        self._spells_locals = True
        if callee is None:
            self._fixes_all_parameters = True
        else:
            self._fixed_functions.add(callee)

    def _callee(self, call: ast.Call, scope: Scope) -> Scope | None:
        """The scope of the function that is called, where the name is bound once, by a def."""
        func = call.func.value if isinstance(call.func, ast.Subscript) else call.func
        return self._function(func.id, self._scopes.resolve(func.id, scope)) if isinstance(func, ast.Name) else None

    def _function(self, name: str, owner: Scope | None) -> Scope | None:
        nodes = owner.bound.get(name, []) if owner else []
        return self._scopes.inner.get(nodes[0]) if _is_one_function(nodes) else None

    def _look_at_function(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, scope: Scope) -> None:
        inner = self._scopes.inner[node]
        is_opaque, is_fixed = scope in self._opaque_functions, False
        if isinstance(node, ast.Lambda):
            is_fixed = bool(node.args.defaults or node.args.kwonlyargs)
        else:
            is_entry = scope is self._scopes.module and node.name == ENTRY
            is_fixed = is_entry or scope.kind == "class"
            is_opaque |= not all(_last_name(d) in _PLAIN_DECORATORS for d in node.decorator_list)
        if is_opaque:
            self._opaque_functions.add(inner)
        if is_opaque or is_fixed:
            self._fixed_functions.add(inner)

    def _drop_unread_literals(self, tree: ast.Module) -> None:
        if self.is_reflective:
            return
        strings = {n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)}
        for statement in tree.body:
            match statement:
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    is_unread = name not in self._loaded | self._class_names | strings and not name.startswith("__")
                    is_only = len(self._scopes.module.bound[name]) == 1 and name != ENTRY
                    if is_unread and is_only and _is_literal(value):
                        self.dropped.add(statement)

    def _keep_strings(self, tree: ast.Module) -> None:
        """`njit(locals={"acc": ...})`, `autotune(key=["n"])`: a name that stands in a string has a reader."""
        stack: list[ast.AST] = [tree]
        while stack:
            node = stack.pop()
            if node in self.dropped or is_bare_constant(node):
                continue
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                self._strings.add(node.value)
            stack.extend(ast.iter_child_nodes(node))


def is_bare_constant(node: ast.AST) -> bool:
    """A docstring or another constant that stands alone as a statement: nothing happens there."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_telling(name: str) -> bool:
    """`__globals__`, `__code__`, ...; also `__private`, which a class body would spell in another way."""
    return name.startswith("__") and name not in _BLIND_DUNDERS


def _is_one_function(nodes: list[ast.AST]) -> bool:
    return len(nodes) == 1 and isinstance(nodes[0], ast.FunctionDef | ast.AsyncFunctionDef)


def _takes_keyword(scope: Scope, name: str) -> bool:
    spec = getattr(scope.node, "args", None)
    return isinstance(spec, ast.arguments) and any(arg.arg == name for arg in (*spec.args, *spec.kwonlyargs))


def _last_name(node: ast.AST) -> str:
    while isinstance(node, ast.Call):
        node = node.func
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _is_literal(value: ast.AST) -> bool:
    """Constants in tuples, lists and dictionaries: making one has no effect and cannot fail."""
    for node in ast.walk(value):
        match node:
            case ast.Dict(keys=keys) if not all(isinstance(k, ast.Constant) for k in keys):
                return False
            case ast.Constant() | ast.Tuple() | ast.List() | ast.Dict() | ast.expr_context():
                continue
            case _:
                return False
    return True
