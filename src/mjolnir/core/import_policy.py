"""What a kernel file may import, and the other words by which a module can be reached. Facts only; see import_scan."""

from __future__ import annotations

import dataclasses
import enum
import functools
import itertools
import math
import sys
import typing
from dataclasses import dataclass
from types import ModuleType

STANDARD: dict[str, ModuleType] = {
    "math": math,
    "typing": typing,
    "functools": functools,
    "dataclasses": dataclasses,
    "itertools": itertools,
    "enum": enum,
}
"""Allowed on every target, beside __future__."""

MACHINERY = frozenset(
    {"__import__", "__builtins__", "__loader__", "__spec__", "import_module", "load_module", "exec_module", "find_spec"}
)
"""Names that import a module without saying `import`."""

FOREIGN_CALLS = frozenset({"ExternalFunction", "ExternalFunctionPointer", "get_cython_function_address", "_ctypes"})
"""Names that reach functions of other libraries: what `import ctypes` would do."""

CLOCK_WORDS = frozenset({"now", "today", b"now", b"today"})
"""Texts that numpy turns into the time of day: np.datetime64("now"). numpy takes them in any letter case."""

_AUTOTUNE = "would time configurations inside the measurement and choose by luck: write the chosen values into the file"
REFUSED_PARTS = {
    f"triton.{name}": _AUTOTUNE
    for name in ("autotune", "runtime.autotune", "runtime.Autotuner", "runtime.autotuner", "runtime.autotuner.autotune")
}
"""Parts of allowed modules that a kernel may not use, and why."""

_OUTSIDE = frozenset(
    {
        "sys",
        "os",
        "subprocess",
        "ctypes",
        "importlib",
        "builtins",
        "bltns",
        "inspect",
        "pickle",
        "cloudpickle",
        "shutil",
    }
    | {"tempfile", "threading", "multiprocessing", "socket", "gc", "warnings", "pathlib", "weakref", "atexit", "mmap"}
    | {"llvmlite", "stdlib_re", "_thread", "contextlib", "collections"}
)
"""Modules that packages happen to hold as attributes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportPolicy:
    """`roots` is the list for people, `modules` what may be imported, `hidden` the parts that may not be reached."""

    roots: tuple[str, ...]
    modules: frozenset[str]
    hidden: frozenset[str]

    def allows(self, module: str) -> bool:
        """True when `import module` is within the allow-list."""
        return module in self.modules or module in STANDARD or module == "__future__"

    def reached(self, path: str, attribute: str) -> str:
        """The module outside the list that `path.attribute` is, path being an imported name; empty: none."""
        full = f"{path}.{attribute}"
        if path in STANDARD:
            is_module = isinstance(getattr(STANDARD[path], attribute, None), ModuleType)
            is_outside = (is_module or attribute in sys.stdlib_module_names) and attribute not in STANDARD
            return attribute if is_outside else ""
        if self.allows(full) or self._leads_on(full):
            return ""
        is_hidden = full in self.hidden or attribute in _OUTSIDE or (path in self.hidden and self._leads_on(path))
        return full if is_hidden else ""

    def _leads_on(self, path: str) -> bool:
        """True when an allowed module lies below `path`."""
        return any(module.startswith(f"{path}.") for module in self.modules)

    def follow(self, path: str, attribute: str) -> str:
        """The dotted name of `path.attribute`; the standard modules that other modules hold keep their own name."""
        return attribute if path in STANDARD and attribute in STANDARD else f"{path}.{attribute}"


def _parts(package: str, names: str) -> frozenset[str]:
    return frozenset(f"{package}.{name}" for name in names.split())


CPU = ImportPolicy(
    roots=("numpy", "numba", "ml_dtypes", *STANDARD, "__future__"),
    modules=frozenset({"numpy", "numba", "ml_dtypes"})
    | _parts("numpy", "linalg random fft polynomial typing dtypes exceptions emath lib lib.stride_tricks")
    | _parts("numba", "types core.types typed experimental extending"),
    hidden=_parts("numpy", "ctypeslib f2py testing distutils core _core compat matlib lib.format lib.npyio _typing")
    | _parts("numpy", "_utils _globals _mat _pytesttester _distributor_init __config__ _array_api_info")
    | _parts("numba", "core misc cpython np cuda numba platform re testing pycc cext parfors stencils runtests")
    | _parts("numba", "_devicearray _dispatcher _dynfunc _helperlib")
    | _parts("ml_dtypes", "_np _finfo _iinfo _ml_dtypes_ext"),
)

GPU = ImportPolicy(
    roots=("torch", "triton", "triton.language", *STANDARD, "__future__"),
    modules=frozenset({"torch", "triton"})
    | _parts("torch", "nn nn.functional")
    | _parts("triton", "language language.extra language.extra.libdevice language.extra.cuda language.math")
    | _parts("triton", "language.extra.cuda.libdevice tools.tensor_descriptor"),
    hidden=_parts("torch", "utils hub multiprocessing package distributed ops classes jit testing _C")
    | _parts("triton", "backends tools testing profiler _C"),
)
