"""Pairs of short programs: which edits leave a program the same, and which small ones make another of it."""

from __future__ import annotations

import pytest

from mjolnir.core.program_hash import program_hash


def same(one: str, other: str) -> bool:
    return program_hash(one.encode()) == program_hash(other.encode())


SAME = {
    "a docstring": ("def decode():\n  return 1", 'def decode():\n  "fast"\n  return 1'),
    "a string that stands alone": ("def decode(): return 1", "'note'\ndef decode():\n  'a'\n  'b'\n  return 1"),
    "pass": ("def decode():\n  x()", "def decode():\n  pass\n  x()"),
    "quotes": ("x = 'a'", 'x = """a"""'),
    "adjacent strings": ("x = 'ab'", "x = 'a' 'b'"),
    "spelling of a number": ("x = f(16, 1000, 0.5)", "x = f(0x10, 1_000, 5e-1)"),
    "parentheses": ("x = a + b * c", "x = (a + (b * c))"),
    "line continuation": ("x = a + b", "x = a + \\\n  b"),
    "semicolons": ("x = a; y = b", "x = a\ny = b"),
    "tabs": ("if a:\n  b()", "if a:\n\tb()"),
    "a byte order mark and line ends": ("x = 1\ny = 2\n", "\ufeffx = 1\r\ny = 2\r\n"),
    "a coding cookie": ("x = 'a'", "# -*- coding: latin-1 -*-\nx = 'a'"),
    "elif": ("if a: b()\nelif c: d()", "if a: b()\nelse:\n  if c: d()"),
    "an else that does nothing": ("if a: b()", "if a: b()\nelse: pass"),
    "the name of an import": ("import numpy as np\nnp.sum(x)", "import numpy\nnumpy.sum(x)"),
    "a local import": ("def f():\n import math\n return math.pi", "def f():\n import math as m\n return m.pi"),
    "an unread literal": ("x()", "META = {'id': 3, 'why': ['a', ('b',)]}\nx()"),
    "a parameter and its keyword": (
        "def decode(q): return _f(1, n=2)\ndef _f(m, n): return n",
        "def decode(q): return _g(1, k=2)\ndef _g(a, k): return k",
    ),
    "a local that a keyword is called like": (
        "def f(q):\n axis = 1\n return q.sum(axis=axis)",
        "def f(q):\n side = 1\n return q.sum(axis=side)",
    ),
    "a local that a string is spelled like": (
        "def f():\n n = 1\n mode = 'n'\n return n, mode",
        "def f():\n m = 1\n mode = 'n'\n return m, mode",
    ),
    "a parameter that a keyword for somebody else is called like": (
        "def decode(q): return _f(q, 1)\ndef _f(q, axis): return q.sum(axis=axis)",
        "def decode(q): return _f(q, 1)\ndef _f(q, side): return q.sum(axis=side)",
    ),
    "a parameter of a kernel with a grid": (
        "@triton.jit\ndef k(x, N): pass\ndef decode(q): k[2](q, N=3, num_warps=4)",
        "@triton.jit\ndef k(x, M): pass\ndef decode(q): k[2](q, M=3, num_warps=4)",
    ),
    "a parameter, when ** goes to another function": (
        "def decode(q): return f(1), g(**o)\ndef f(a): return a\ndef g(**o): return o",
        "def decode(q): return f(1), g(**o)\ndef f(b): return b\ndef g(**o): return o",
    ),
    "a match": (
        "match x:\n case [a, *b, {'k': c, **d}] as e: f(a, b, c, d, e)",
        "match x:\n case [q, *r, {'k': s, **t}] as u: f(q, r, s, t, u)",
    ),
    "global": ("n = 0\ndef f():\n global n\n n += 1", "m = 0\ndef f():\n global m\n m += 1"),
    "a walrus in a comprehension": (
        "def f(z):\n return [y := x for x in z], y",
        "def f(z):\n return [p := q for q in z], p",
    ),
}


@pytest.mark.parametrize("pair", SAME.values(), ids=SAME)
def test_these_are_one_program(pair):
    assert same(*pair)


DECODE = "def decode(q, out): return g(q)\n"
DIFFERENT = {
    "a type": ("x = f(1)", "x = f(1.0)"),
    "True and 1": ("x = f(1)", "x = f(True)"),
    "text and bytes": ("x = f('a')", "x = f(b'a')"),
    "an annotation": ("def g(x: int): return x", "def g(x: float): return x"),
    "a decorator": ("@numba.njit\ndef g(): pass", "def g(): pass"),
    "the order of statements": ("a()\nb()", "b()\na()"),
    "grouping": ("x = f((a + b) + c)", "x = f(a + (b + c))"),
    "a parameter of decode": ("def decode(q, out): out[:] = q", "def decode(p, out): out[:] = p"),
    "the name decode": ("def decode(q): return q", "def decoder(q): return q"),
    "an attribute": ("x.sum()", "x.max()"),
    "a builtin": ("x = max(a)", "x = min(a)"),
    "a builtin that is hidden": ("def f(a): return max(a)", "max = 3\ndef f(a): return max(a)"),
    "which of two is used": ("def f(a, b): return a - b", "def f(a, b): return b - a"),
    "which of two is captured": ("def f(a):\n b = 1\n return lambda: a", "def f(a):\n b = 1\n return lambda: b"),
    "local and global": ("def f():\n x = 1\n return x", "def f():\n global x\n x = 1\n return x"),
    "local and nonlocal": (
        "def f():\n x = 1\n def g(): x = 2\n g()\n return x",
        "def f():\n x = 1\n def g():\n  nonlocal x\n  x = 2\n g()\n return x",
    ),
    "a comprehension's own variable": ("def f(x): return [x for y in x]", "def f(x): return [x for x in x]"),
    "the names a class falls back on": (
        "y = 1\nx = 2\nclass C:\n x = x\nprint(C.x)",
        "x = 1\ny = 2\nclass C:\n x = x\nprint(C.x)",
    ),
    "the name of a field": ("class C:\n a = 1", "class C:\n b = 1"),
    "the name of a method's parameter": ("class C:\n def f(self, a): return a", "class C:\n def f(self, b): return b"),
    "a keyword for somebody else": (DECODE + "g(axis=1)", DECODE + "g(dtype=1)"),
    "a parameter called with a keyword elsewhere": (
        "def f(a, b): return a - b\ng = f\ng(a=1, b=2)",
        "def f(b, a): return b - a\ng = f\ng(a=1, b=2)",
    ),
    "a parameter of a function that is handed on": (
        DECODE + "def f(a, b): return a\nh(f)",
        DECODE + "def f(b, a): return b\nh(f)",
    ),
    "a parameter that ** may reach": (DECODE + "def f(a): return a\nf(**o)", DECODE + "def f(b): return b\nf(**o)"),
    "decode made of another function": ("def f(q, out): return q\ndecode = f", "def f(p, out): return p\ndecode = f"),
    "a name that stands in a string": (
        "@njit(locals={'acc': f4})\ndef f():\n acc = 0\n b = acc",
        "@njit(locals={'acc': f4})\ndef f():\n b = 0\n acc = b",
    ),
    "a name that stands in a keyword": (
        "def f():\n acc = 0\n b = acc\n@njit(locals=dict(acc=f4))\ndef g(): pass",
        "def f():\n b = 0\n acc = b\n@njit(locals=dict(acc=f4))\ndef g(): pass",
    ),
    "a name that the compiler's second argument may hold": (
        "def f():\n acc = 0\n return acc\nnjit(f4(), {'acc': f4})",
        "def f():\n b = 0\n return b\nnjit(f4(), {'acc': f4})",
    ),
    "a variable that leaves compiled code": (
        "@njit\ndef f():\n with objmode(y='f4'):\n  y = 1\n return y",
        "@njit\ndef f():\n with objmode(y='f4'):\n  z = 1\n return z",
    ),
    "a lambda's parameter called with a keyword": (
        "def decode(q): return h(a=1, b=2)\nh = lambda a, b: a",
        "def decode(q): return h(a=1, b=2)\nh = lambda b, a: b",
    ),
    "names that the program looks up": ("def f():\n a = 1\n return locals()", "def f():\n b = 1\n return locals()"),
    "a docstring that is read": ("def f():\n 'a'\nx = f.__doc__", "def f():\n 'b'\nx = f.__doc__"),
    "a function's name that is read": ("def f(): pass\nx = f.__name__", "def g(): pass\nx = g.__name__"),
    "parameters that inspect reads": (
        "import dataclasses\ndef f(a): pass\ndataclasses.inspect.signature(f)",
        "import dataclasses\ndef f(b): pass\ndataclasses.inspect.signature(f)",
    ),
    "computed getattr": ("def f(a): return a\ngetattr(f, g())", "def f(b): return b\ngetattr(f, g())"),
    "the module that is imported": ("import numpy as m", "import numba as m"),
    "import a.b and import a.b as a": ("import numpy.linalg", "import numpy.linalg as numpy"),
    "a literal that is read": ("N = 1\ndef decode(): return N", "N = 2\ndef decode(): return N"),
    "a literal that cannot be made": ("x()", "M = {[]: 1}\nx()"),
    "text that does not parse": ("def f(:", "def  f(:"),
}


@pytest.mark.parametrize("pair", DIFFERENT.values(), ids=DIFFERENT)
def test_these_are_two_programs(pair):
    assert not same(*pair)
