"""The kernel under test: one file, executed as a module of its own."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable

from mjolnir.worker.legs import NoDecodeError


def load_decode(path: str) -> Callable[..., object]:
    """`decode` of the file at `path`. Raises what the file raises, and NoDecodeError."""
    spec = importlib.util.spec_from_file_location("kernel_under_test", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    decode = getattr(module, "decode", None)
    if not callable(decode):
        raise NoDecodeError("the file defines no function `decode`")
    return decode  # type: ignore[no-any-return]
