"""Same program, same hash: what may differ between two texts of one program, and what may not."""

from __future__ import annotations

import ast
import io
import keyword
import random
import re
import tokenize
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import mjolnir
from mjolnir.core.program_hash import program_hash

KERNEL_FILES = sorted((Path(mjolnir.__file__).parents[1] / "mjolnir_kernel").rglob("*.py"))

KERNEL = '''"""A small kernel in the manner of a real one."""
from __future__ import annotations

import math

import numba
import numpy as np

TILE = 64
NOTES = {"author": "agent", "tries": [1, 2, 3]}


@numba.njit(fastmath=True, locals={"total": numba.float32})
def _dot(left, right, count):
    total = np.float32(0)
    for i in range(count):
        total += left[i] * right[i]
    return total


def _attend(query, keys, values, scale, result):
    """One head."""
    width = keys.shape[1]
    logits = np.array([_dot(query, keys[row], count=width) * scale for row in range(len(keys))])
    top = logits.max(axis=0)
    weights = [math.exp(x - top) for x in logits if (y := x) is not None]

    def add(part, *, index):
        nonlocal width
        width += 1
        result[:] += part * values[index]

    for n, w in enumerate(weights):
        add(w / sum(weights), index=n)
    try:
        ordered = sorted(weights, key=lambda each: -each)
    except ValueError as problem:
        raise NotImplementedError("no weights") from problem
    return ordered


def decode(q, kv_cache, page_table, seq_lens, *, sm_scale, q_scale=1.0, k_scale=1.0, v_scale=1.0, out):
    for b in range(q.shape[0]):
        length = int(seq_lens[b])
        pages = kv_cache[page_table[b, : -(-length // TILE)]]
        _attend(q[b], pages[:, 0], pages[:, 1], sm_scale * q_scale * k_scale, result=out[b])
'''
MAY_BE_RENAMED = [
    *(
        "_dot",
        "left",
        "right",
        "_attend",
        "query",
        "keys",
        "values",
        "scale",
        "result",
        "width",
        "logits",
        "row",
        "top",
    ),
    *("x", "y", "part", "index", "n", "w", "ordered", "each", "problem", "b", "length", "pages", "TILE", "NOTES", "i"),
    *("np", "add", "count", "weights"),
]


def same(one: str, other: str) -> bool:
    return program_hash(one.encode()) == program_hash(other.encode())


def rename(source: str, names: dict[str, str]) -> str:
    """Every NAME token of `names`, keyword arguments of calls too, attributes not."""
    tokens, after_dot = [], False
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        is_name = token.type == tokenize.NAME and not after_dot
        tokens.append((token.type, names.get(token.string, token.string) if is_name else token.string))
        after_dot = token.string == "."
    return tokenize.untokenize(tokens)


def with_comments(source: str, order: random.Random) -> str:
    """Comments and blank lines wherever a line of a syntax tree begins."""
    starts = {node.lineno for node in ast.walk(ast.parse(source)) if isinstance(node, ast.stmt)}
    lines = []
    for number, line in enumerate(source.splitlines(), 1):
        if number in starts and order.random() < 0.5:
            lines += ["", "  # " + order.choice(["tuned", '"""', "TODO: def decode():"])]
        lines.append(line)
    return "\n".join(lines) + "\n# the end"


def new_names(order: random.Random, count: int) -> list[str]:
    letters = [f"v{order.randrange(10**6)}_{n}" for n in range(count)]
    order.shuffle(letters)
    return letters


@given(st.randoms(use_true_random=False), st.sets(st.sampled_from(MAY_BE_RENAMED), min_size=1))
def test_renaming_comments_and_layout_leave_the_program_the_same(order, names):
    edited = rename(KERNEL, dict(zip(sorted(names), new_names(order, len(names)), strict=True)))
    assert same(KERNEL, edited)
    assert same(KERNEL, ast.unparse(ast.parse(edited)))
    assert same(KERNEL, with_comments(KERNEL, order))


@given(st.randoms(use_true_random=False), st.permutations(MAY_BE_RENAMED))
def test_exchanging_names_among_each_other_leaves_the_program_the_same(order, shuffled):
    assert same(KERNEL, rename(KERNEL, dict(zip(MAY_BE_RENAMED, shuffled, strict=True))))


@pytest.mark.parametrize("path", KERNEL_FILES, ids=lambda p: p.name)
def test_the_shipped_kernels_survive_reformatting_and_comments(path):
    source = path.read_text()
    assert same(source, ast.unparse(ast.parse(source)))
    assert same(source, with_comments(source, random.Random(path.name)))


def test_the_shipped_kernels_are_different_programs():
    with_code = [p.read_bytes() for p in KERNEL_FILES if p.name != "__init__.py"]
    assert len({program_hash(source) for source in with_code}) == len(with_code)


def changed_sources():
    """KERNEL with one number, operator or name changed; one text for each such token."""
    lines = KERNEL.splitlines(keepends=True)
    for token in tokenize.generate_tokens(io.StringIO(KERNEL).readline):
        new = None
        if token.type == tokenize.NUMBER:
            new = "77"
        elif token.string in {"+=", "*", "/", "//"}:
            new = {"+=": "-=", "*": "+", "/": "*", "//": "%"}[token.string]
        elif token.type == tokenize.NAME and not keyword.iskeyword(token.string):
            new = "zzz" if token.string != "author" else None
        if new is None or token.line.startswith(("NOTES", "from __future__")):
            continue
        row, (start, end) = token.start[0] - 1, (token.start[1], token.end[1])
        line = lines[row]
        yield "".join([*lines[:row], line[:start] + new + line[end:], *lines[row + 1 :]])


def test_a_change_of_any_one_number_operator_or_name_is_another_program():
    sources = list(changed_sources())
    assert len(sources) > 150
    # `y` is written once and never read: only its name changes there.
    assert [s for s in sources if same(KERNEL, s) and "(zzz := x)" not in s] == []


HOSTILE = {
    "empty": b"",
    "NUL bytes": b"x = 1\0",
    "not UTF-8": b"x = '\xff\xfe'",
    "unknown coding": b"# coding: klingon\nx = 1",
    "a coding that is no text": b"# coding: hex\nx = 1",
    "deep brackets": b"(" * 50_000,
    "deep nesting": b"x = " + b"-" * 50_000 + b"1",
    "a long chain": b"x = 1" + b" + 1" * 20_000,
    "a long call chain": b"x" + b".y()" * 20_000,
    "deep blocks": b"\n".join(b" " * n + b"if x:" for n in range(2_000)),
    "binary": bytes(range(256)) * 40,
    "a huge number": b"x = f(0x" + b"f" * 20_000 + b")",
    "surrogates": rb"x = f('\ud800')",
    "an invalid escape": rb"x = f('\d')",
    "return outside a function": b"return 1",
    "nonlocal of nothing": b"def f():\n nonlocal x\n x = 1",
    "an import star": b"from numpy import *\nx = sum(y)",
}


@pytest.mark.parametrize("source", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.filterwarnings("error")
def test_every_sequence_of_bytes_has_a_hash(source):
    assert re.fullmatch("[0-9a-f]{64}", program_hash(source))
    assert program_hash(source) == program_hash(source)


@given(st.binary(max_size=200) | st.text(max_size=200).map(lambda t: t.encode("utf-8", "surrogatepass")))
def test_no_input_makes_it_raise(source):
    program_hash(source)


def test_a_chain_of_two_hundred_operators_is_read_and_not_taken_as_bytes():
    chain = "x = f(1" + " + 1" * 200 + ")"
    assert same(chain, chain.replace(" + ", "+"))


def test_the_hash_of_a_program_is_the_same_number_in_every_version():
    # Written into ledgers: an accidental change of the form would forget every program that was ever measured.
    assert program_hash(KERNEL.encode()) == "f03abde8427debd304b06ca99f5cd16e8ab2e4130c293bce864f4c300c2358dc"
