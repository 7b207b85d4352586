"""A kernel's bytes as a syntax tree. The text is hostile: nothing here runs it, nothing in it may end the caller."""

from __future__ import annotations

import ast
import warnings


def parse_kernel(source: bytes) -> ast.Module | None:
    """The tree of a Python file, its coding cookie obeyed as the interpreter would; None when it does not parse."""
    try:
        with warnings.catch_warnings():
            # A bad escape in the agent's file is no word to the person who runs `evaluate`.
            warnings.simplefilter("ignore")
            return ast.parse(source)
    except (SyntaxError, ValueError, LookupError, RecursionError, MemoryError, OverflowError):
        return None


def takes_keyword(source: bytes, name: str, *, function: str = "decode") -> bool:
    """True when the file's last top-level `function` has a parameter `name` that a caller may give by keyword."""
    tree = parse_kernel(source)
    found = [n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == function] if tree else []
    return bool(found) and any(arg.arg == name for arg in (*found[-1].args.args, *found[-1].args.kwonlyargs))
