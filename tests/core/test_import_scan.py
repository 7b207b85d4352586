"""What a kernel may import, what is refused in whatever words, and what is only noted."""

from __future__ import annotations

import dataclasses
import enum
import functools
import itertools
import math
import typing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import mjolnir
from mjolnir.core.import_scan import MAX_FINDINGS, ScanResult, scan_imports

KERNEL_FILES = sorted((Path(mjolnir.__file__).parents[1] / "mjolnir_kernel").rglob("*_decode*.py"))
STANDARD = (math, typing, functools, dataclasses, itertools, enum)


def scan(source: str) -> ScanResult:
    return scan_imports(source.encode(), gpu=False)


HONEST = {
    "the allow-list": "from __future__ import annotations\nimport numpy as np, numba, ml_dtypes, math, typing\n"
    "import functools, dataclasses, itertools, enum",
    "parts of numpy": "import numpy.linalg\nfrom numpy.lib.stride_tricks import as_strided\n"
    "np = numpy\nnp.random.default_rng(0)",
    "parts of numba": "from numba import njit, prange, types, typed, vectorize\nfrom numba.core import types as t\n"
    "import numba\nx = numba.core.types.float32\ny = numba.types.uint8\nfrom numba.extending import intrinsic",
    "typing": "import typing as t\nfrom typing import NamedTuple, Any, TYPE_CHECKING\nx: t.Any = 1",
    "decorators": "import functools\n@functools.cache\ndef f(): return 1\n@functools.wraps(f)\ndef g(): pass",
    "a dataclass": "from dataclasses import dataclass, field\n@dataclass\nclass P:\n a: int = field(default=0)",
    "an import inside a function": "def decode():\n import math\n return math.pi",
    "addresses and views": "def decode(q, out):\n p = q.ctypes.data\n out[:] = q.view(q.dtype).copy()",
    "names like modules": "def decode(os, sys):\n re = os + sys\n return re",
    "a parameter that hides an import": "import dataclasses\ndef f(dataclasses): return dataclasses.sys",
    "a module held by an allowed one that is allowed too": "import dataclasses\nx = dataclasses.functools.reduce",
    "an attribute named by a constant": "import numpy as np\nx = getattr(np, 'float32')",
    "words in texts": "def decode():\n 'import os'\n raise NotImplementedError('import sys, eval, open')",
    "a super call": "import numpy as np\nclass A(np.ndarray):\n def __init__(self):\n  super().__init__()",
}


@pytest.mark.parametrize("source", HONEST.values(), ids=HONEST)
def test_honest_code_has_no_finding_at_all(source):
    assert scan(source) == ScanResult()


@pytest.mark.parametrize("path", KERNEL_FILES, ids=lambda p: p.name)
def test_the_shipped_kernels_have_no_finding_at_all(path):
    assert scan_imports(path.read_bytes(), gpu=path.name.startswith("t5")) == ScanResult()


@pytest.mark.parametrize("module", STANDARD, ids=lambda m: m.__name__)
def test_every_public_name_of_an_allowed_standard_module_may_be_used(module):
    names = [n for n in getattr(module, "__all__", dir(module)) if not n.startswith("_")]
    uses = "\n".join(f"x = {module.__name__}.{name}" for name in names)
    imports = "\n".join(f"from {module.__name__} import {name}" for name in names)
    assert scan(f"import {module.__name__}\n{uses}\n{imports}") == ScanResult()


FORBIDDEN = {
    "import os": (1, "import os"),
    "import numpy as np, subprocess as sp": (1, "import subprocess"),
    "import os.path": (1, "import os.path"),
    "from ctypes import CDLL": (1, "from ctypes import CDLL"),
    "\n\nfrom ctypes import (\n  CDLL,\n  cast)": (4, "from ctypes import CDLL"),
    "def decode():\n  import threading": (2, "import threading"),
    "try:\n  import torch\nexcept ImportError: pass": (2, "import torch"),
    "if False:\n  import os": (2, "import os"),
    "from . import helper": (1, "from . import helper"),
    "from .helper import fast": (1, "from .helper import fast"),
    "import importlib": (1, "import importlib"),
    "import numpy.ctypeslib": (1, "import numpy.ctypeslib"),
    "from numpy import ctypeslib": (1, "from numpy import ctypeslib"),
    "from numpy.testing import assert_allclose": (1, "from numpy.testing import assert_allclose"),
    "import numpy as np\nnp.ctypeslib.load_library('c', '.')": (2, "numpy.ctypeslib"),
    "import numpy as np\nnp.f2py": (2, "numpy.f2py"),
    "import numpy\nnumpy._core.multiarray": (2, "numpy._core"),
    "from numpy import *\nctypeslib.load_library('c', '.')": (2, "ctypeslib"),
    "import numba.core.config": (1, "import numba.core.config"),
    "import numba\nnumba.core.config": (2, "numba.core.config"),
    "from numba import core\ncore.runtime": (2, "numba.core.runtime"),
    "import numba as nb\nnb.config.os": (2, "numba.config.os"),
    "import numba\nnumba.types.ExternalFunction('getenv')": (2, "numba.types.ExternalFunction"),
    "from numba.types import ExternalFunction": (1, "from numba.types import ExternalFunction"),
    "def f(q): return q.ctypes._ctypes": (1, "(...)._ctypes"),
    "import dataclasses\ndataclasses.sys.modules": (2, "dataclasses.sys"),
    "import dataclasses as d\nd.inspect": (2, "dataclasses.inspect"),
    "from dataclasses import sys": (1, "from dataclasses import sys"),
    "from enum import bltns as b": (1, "from enum import bltns"),
    "import typing\ntyping.collections": (2, "typing.collections"),
    "import dataclasses\nd = dataclasses\ne = d\ne.sys": (4, "dataclasses.sys"),
    "import dataclasses\n(d := dataclasses).copy\nd.copy": (3, "dataclasses.copy"),
    "import dataclasses\ndataclasses.functools.partial\ndataclasses.re": (3, "dataclasses.re"),
    "import dataclasses\ngetattr(dataclasses, 'sys')": (2, "getattr(dataclasses, 'sys')"),
    "os = __import__('os')": (1, "__import__"),
    "f = __builtins__": (1, "__builtins__"),
    "def f(): pass\nf.__globals__['__builtins__']": (2, "'__builtins__'"),
    "__loader__.load_module('os')": (1, "__loader__"),
    "x.import_module('os')": (1, "x.import_module"),
}


@pytest.mark.parametrize("source", FORBIDDEN, ids=lambda s: s.replace("\n", "; "))
def test_an_import_outside_the_list_is_refused_with_its_line_in_whatever_words(source):
    found = scan(source).forbidden
    assert FORBIDDEN[source] in {(f.line, f.text) for f in found}
    assert all(f.why for f in found)


NOTED = {
    "eval('1')": (1, "eval"),
    "exec(text)": (1, "exec"),
    "open('/etc/passwd')": (1, "open"),
    "def f():\n  return globals()": (2, "globals"),
    "import numpy as np\nnp.allclose = None": (2, "numpy.allclose"),
    "import numpy as np\nsetattr(np, 'allclose', f)": (2, "setattr(numpy, ...)"),
    "import numpy as np\ngetattr(np, name)": (2, "getattr(numpy, ...)"),
    "import numpy as np\nnp.load('x.npy')": (2, "numpy.load"),
    "from numpy import fromfile": (1, "from numpy import fromfile"),
    "import numpy as np\nnp.__dict__": (2, "numpy.__dict__"),
    "import numpy as np\nnp.datetime64('now', 'us')": (2, "'now'"),
    "import numpy as np\nnp.array([b'Today'], 'M8[us]')": (2, "b'Today'"),
    "x.f_back": (1, "x.f_back"),
    "().__class__.__mro__": (1, "(...).__mro__"),
    "f.__globals__": (1, "f.__globals__"),
}


@pytest.mark.parametrize("source", NOTED, ids=lambda s: s.replace("\n", "; "))
def test_a_suspicious_name_is_a_note_and_no_refusal(source):
    result = scan(source)
    assert result.forbidden == ()
    assert NOTED[source] in {(f.line, f.text) for f in result.notes}


def test_the_reason_names_the_allow_list():
    why = scan("import os").forbidden[0].why
    assert why.startswith("os is outside the allow-list (numpy, numba, ml_dtypes, math, typing")


def test_a_gpu_kernel_may_import_torch_and_triton_and_no_numpy():
    source = b"import torch\nimport triton\nimport triton.language as tl\nfrom triton.language.extra import libdevice\n"
    source += b"n = triton.runtime.driver.active\nx = tl.load(p)\n"
    assert scan_imports(source, gpu=True) == ScanResult()
    for line in (
        b"import numpy",
        b"import flashinfer",
        b"import torch.utils.cpp_extension",
        b"import torch\ntorch.ops",
    ):
        assert scan_imports(line, gpu=True).forbidden
    assert scan_imports(b"import torch", gpu=False).forbidden


@pytest.mark.parametrize(
    "source",
    [
        b"import triton\n@triton.autotune(configs=[], key=[])\ndef f(): pass",
        b"from triton import autotune as tune",
        b"import triton as t\nt.runtime.autotuner.autotune",
        b"import triton\ngetattr(triton, 'autotune')",
    ],
)
def test_autotuning_inside_the_measurement_is_refused_with_the_reason(source):
    found = scan_imports(source, gpu=True).forbidden
    assert "choose by luck" in found[0].why


@pytest.mark.parametrize(
    "source",
    [
        b"",
        b"import os (",
        b"import os\0",
        b"# coding: klingon\nimport os",
        b"\xff\xfeimport os",
        b"(" * 50_000,
        b"-" * 50_000,
    ],
    ids=["empty", "syntax error", "NUL", "unknown coding", "not UTF-8", "brackets", "unary"],
)
def test_a_file_that_does_not_parse_has_no_findings(source):
    assert scan_imports(source, gpu=False) == ScanResult()


def test_a_coding_cookie_hides_nothing():
    assert scan_imports(b"# coding: utf-7\n+AGkAbQBwAG8AcgB0ACAAbwBz-\n", gpu=False).forbidden[0].text == "import os"
    assert scan_imports(b"# coding: utf-16\n" + "import os".encode("utf-16"), gpu=False) == ScanResult()
    assert scan_imports(b"# coding: latin-1\nimport os # \xe9", gpu=False).forbidden[0].line == 2


def test_ten_thousand_findings_are_cut_to_a_readable_number():
    assert len(scan("import os\n" * 10_000).forbidden) == MAX_FINDINGS


def test_names_that_refer_to_each_other_in_a_circle_end():
    assert scan("a = b\nb = a\na.sys") == ScanResult()


@given(st.binary(max_size=200) | st.text(max_size=200).map(lambda t: t.encode("utf-8", "surrogatepass")))
def test_no_input_makes_it_raise(source):
    scan_imports(source, gpu=False)
