"""What goes wrong with a kernel, in one line: whose words they are, and where in the file."""

import ast

import pytest

from mjolnir.worker.kernel_failure import describe_failure
from mjolnir.worker.legs import NoDecodeError
from mjolnir.worker.stub_driver import HostCodeError

SOURCE = "import triton\n\n\n@triton.jit\ndef fold(k):\n    x = k\n    return tabel\n"


class TritonError(Exception):
    pass


class CompilationError(TritonError):
    """Like Triton's: it counts lines from the `def` and quotes the source."""

    def __init__(self, line, message):
        super().__init__(f"at {line}:0:\nmuch source\n{message}")
        self.src = SOURCE.partition("@triton.jit\n")[2]
        self.node = ast.Pass(lineno=line, col_offset=0)
        self.error_message = message


class OutOfResources(TritonError):
    pass


@pytest.fixture
def describe(tmp_path):
    path = tmp_path / "kernel.py"
    path.write_text(SOURCE)
    return lambda e: describe_failure(e, str(path))


@pytest.mark.parametrize(
    ("error", "kind", "detail"),
    [
        (NotImplementedError("head_dim 96"), "unsupported", "NotImplementedError: head_dim 96"),
        (HostCodeError("torch.cuda is not here"), "refused", "torch.cuda is not here"),
        (NoDecodeError("no decode"), "refused", "no decode"),
        (
            OutOfResources("out of resource: shared memory"),
            "resources",
            "OutOfResources: out of resource: shared memory",
        ),
        (RuntimeError("PassManager::run failed"), "compiler", "RuntimeError: PassManager::run failed"),
        (ValueError("a\n  b"), "raised", "ValueError: a b"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_an_exception_has_a_kind_and_its_words(describe, error, kind, detail):
    found = describe(error)
    assert (found["kind"], found["detail"]) == (kind, detail)


def test_a_compile_error_is_its_message_and_the_line_of_the_file(describe):
    found = describe(CompilationError(3, "NameError('tabel is not defined')"))
    assert found["kind"] == "compiler"
    assert found["detail"] == "CompilationError: NameError('tabel is not defined') (kernel line 7)"


def test_of_nested_compile_errors_the_innermost_names_the_place(describe):
    outer = CompilationError(1, "outer")
    outer.__cause__ = CompilationError(3, "inner")
    assert describe(outer)["detail"] == "CompilationError: inner (kernel line 7)"


def test_an_exception_whose_own_text_raises_is_its_name(describe):
    class Rude(Exception):
        def __str__(self):
            raise SystemExit

    assert describe(Rude()) == {"kind": "raised", "detail": "Rude", "log": ""}


def test_long_words_are_cut(describe):
    found = describe(ValueError("x" * 100_000))
    assert len(found["detail"]) <= 520
    assert len(found["log"]) <= 6000
