"""Counts the bytes of K and V that a kernel loads, by running a sample of each grid in Triton's interpreter.

What is loaded does not depend on what K and V hold, so they hold nothing: a load from the cache is counted and answers
zeros, a product answers its accumulator, a conversion zeros. All else is computed, for page numbers and bounds come of
it. Blind to what the compiler loads twice, to spills, to caches, and to what other programs of a grid do when the ones
of the sample are alike; nothing here says that an answer is right.
"""

from __future__ import annotations

import inspect
import math
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import numpy as np

from mjolnir.worker.fast_interpreter import speed_up

Index = tuple[int, int, int]
MAX_LOADS = 12_000
"""Loads of K and V after which no further program of a launch is run: one KV head at L = 256K in tiles of 64 tokens has
8,192 of them, which take some 5 seconds."""
MAX_PROGRAMS = 512


def sample_grid(grid: Index) -> tuple[list[Index], list[Index]]:
    """(programs along the longest axis, in an order of which every beginning is spread over it; of each other axis the
    last program, which shows whether the axis is alike)."""
    axis = max(range(3), key=lambda a: grid[a])
    along = [_at(axis, place) for place in spread_order(grid[axis])[:MAX_PROGRAMS]]
    others = [_at(a, grid[a] - 1) for a in range(3) if a != axis and grid[a] > 1]
    return along, others


def spread_order(extent: int) -> list[int]:
    """0, the last, then all between in steps of the golden ratio."""
    step = max(1, round(extent * 0.618))
    while math.gcd(step, extent) > 1:
        step += 1
    return list(dict.fromkeys([0, extent - 1, *(i * step % extent for i in range(min(extent, MAX_PROGRAMS)))]))


def _at(axis: int, value: int) -> Index:
    x, y, z = (value if a == axis else 0 for a in range(3))
    return x, y, z


@dataclass(slots=True)
class _Program:
    """One program's counts. A site is a place in the kernel's source with the calls that lead to it."""

    stored_bytes: int = 0
    load_calls: Counter[object] = field(default_factory=Counter)
    load_bytes: Counter[object] = field(default_factory=Counter)
    dot_calls: Counter[object] = field(default_factory=Counter)

    @property
    def kv_bytes(self) -> int:
        return sum(self.load_bytes.values())

    @property
    def num_loads(self) -> int:
        return self.load_calls.total()

    @property
    def passes(self) -> int:
        """Passes of the main loop: the place that loads most often is in it."""
        return max(self.load_calls.values(), default=0)

    def bytes_per_pass(self) -> float:
        inner = [site for site, calls in self.load_calls.items() if calls == self.passes]
        return sum(self.load_bytes[site] for site in inner) / self.passes

    def dots_per_pass(self) -> int:
        return sum(calls == self.passes for calls in self.dot_calls.values())


class TrafficCounter:
    """Takes the interpreter of this process over. `install` once, then `start_call`, decode, `launches`."""

    def __init__(self, kernel_path: str) -> None:
        self.launches: list[dict[str, Any]] = []
        self._kernel_path = kernel_path
        self._cache = range(0)
        self._out = range(0)
        self._program = _Program()

    def start_call(self, tensors: Mapping[str, Any]) -> None:
        """A call of decode with these tensors begins."""
        self.launches = []
        self._cache, self._out = (_addresses(tensors[name]) for name in ("kv_cache", "out"))

    def install(self) -> None:
        from triton.runtime import interpreter

        self._interpreter = interpreter
        speed_up(interpreter)
        builder = interpreter.InterpreterBuilder
        original_load, original_store = builder.create_masked_load, builder.create_masked_store
        original_descriptor = builder.create_descriptor_load

        def run_grid(executor: Any, *args: Any, **kwargs: Any) -> None:
            self._run_sample_of(executor, args, kwargs)

        def load(builder: Any, ptrs: Any, mask: Any, *rest: Any, **named: Any) -> Any:
            active = np.broadcast_to(mask.data, ptrs.data.shape)
            if not self._is_cache(_first_active(ptrs.data, active)):
                return original_load(builder, ptrs, mask, *rest, **named)
            return self._counted(ptrs.get_element_ty(), ptrs.data.shape, int(np.count_nonzero(active)))

        def descriptor_load(builder: Any, desc: Any, indices: Any, *rest: Any, **named: Any) -> Any:
            if not self._is_cache(int(desc.base.data.item())):
                return original_descriptor(builder, desc, indices, *rest, **named)
            inside = math.prod(
                max(0, min(int(at.data.item()) + size, int(extent.data.item())) - max(0, int(at.data.item())))
                for at, size, extent in zip(indices, desc.block_shape, desc.shape, strict=True)
            )
            return self._counted(desc.base.dtype.element_ty, tuple(desc.block_shape), inside)

        def store(builder: Any, ptrs: Any, value: Any, mask: Any, *rest: Any, **named: Any) -> Any:
            active = np.broadcast_to(mask.data, ptrs.data.shape)
            if _first_active(ptrs.data, active) not in self._out:
                size_bytes = ptrs.get_element_ty().primitive_bitwidth // 8
                self._program.stored_bytes += int(np.count_nonzero(active)) * size_bytes
            return original_store(builder, ptrs, value, mask, *rest, **named)

        interpreter.GridExecutor.__call__ = run_grid
        builder.create_masked_load, builder.create_masked_store = load, store
        builder.create_descriptor_load = descriptor_load
        builder.create_dot = builder.create_dot_scaled = self._dot

    def _is_cache(self, address: int | None) -> bool:
        return address is not None and address in self._cache

    def _counted(self, dtype: Any, shape: tuple[int, ...], elements: int) -> Any:
        """Count a load of K or V and answer zeros in its place."""
        site = self._site()
        self._program.load_calls[site] += 1
        self._program.load_bytes[site] += elements * (dtype.primitive_bitwidth // 8)
        zeros = np.zeros(shape, self._interpreter._get_np_dtype(dtype))
        return self._interpreter.TensorHandle(zeros, dtype)

    def _dot(self, *handles: Any, **_: Any) -> Any:
        """In place of a product: its accumulator, which is the one operand in float32 with the product's shape."""
        self._program.dot_calls[self._site()] += 1
        is_scaled = len(handles) > 6
        d = handles[-1] if is_scaled else handles[2]
        return self._interpreter.TensorHandle(d.data, d.dtype.scalar)

    def _site(self) -> object:
        frame: FrameType | None = sys._getframe(2)
        places = []
        while frame is not None:
            code = frame.f_code
            if code.co_filename == self._kernel_path:
                places.append((code.co_name, code.co_firstlineno, frame.f_lasti))
            frame = frame.f_back
        return tuple(places)

    def _run_sample_of(self, executor: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """In place of GridExecutor.__call__, which would run every program and copy the whole cache there and back."""
        fn, inner = executor.fn, self._interpreter
        spec = inspect.getfullargspec(fn)
        kwargs = {k: v for k, v in kwargs.items() if k in spec.args or k in spec.kwonlyargs}
        for hook in executor.pre_run_hooks:
            hook(*args, **kwargs)
        inner._patch_lang(fn)
        bound = inspect.getcallargs(fn, *args, **kwargs)
        bound = {k: v if k in executor.constexprs else inner._implicit_cvt(v) for k, v in bound.items()}
        grid = executor.grid(bound) if callable(executor.grid) else executor.grid
        x, y, z = (*(int(n) for n in grid), 1, 1, 1)[:3]
        along, others = sample_grid((x, y, z)) if x * y * z else ([], [])
        inner.interpreter_builder.set_grid_dim(x, y, z)
        checks = [self._run_program(fn, bound, index) for index in others]
        counted: list[_Program] = []
        for index in along:
            if sum(program.num_loads for program in counted) < MAX_LOADS:
                counted.append(self._run_program(fn, bound, index))
        is_whole = len(counted) == max(x, y, z)
        self.launches.append(_summary(fn.__name__, (x, y, z), counted, checks, is_whole))

    def _run_program(self, fn: Any, bound: dict[str, Any], index: Index) -> _Program:
        self._program = _Program()
        self._interpreter.interpreter_builder.set_grid_idx(*index)
        fn(**bound)
        return self._program


def _summary(kernel: str, grid: Index, along: list[_Program], others: list[_Program], is_whole: bool) -> dict[str, Any]:
    """What the whole grid loads and stores, as one JSON object."""
    along = along or [_Program()]
    is_alike = all(p.kv_bytes == along[0].kv_bytes for p in others)
    is_uniform = is_alike and (is_whole or all(p.kv_bytes == along[0].kv_bytes for p in along))
    counted = along if is_alike else [*along, *others]
    programs = math.prod(grid)
    longest = max(counted, key=lambda p: p.passes)
    is_loop = longest.passes > 1
    return {
        "kernel": kernel,
        "grid": grid,
        "kv_bytes": round(sum(p.kv_bytes for p in counted) * programs / len(counted)),
        "stored_bytes": round(sum(p.stored_bytes for p in counted) * programs / len(counted)),
        "sampled": len(along) + len(others),
        "is_uniform": is_uniform,
        "bytes_per_pass": longest.bytes_per_pass() if is_loop else 0.0,
        "dots_per_pass": longest.dots_per_pass() if is_loop else 0,
    }


def _addresses(tensor: Any) -> range:
    storage = tensor.untyped_storage()
    return range(storage.data_ptr(), storage.data_ptr() + storage.nbytes())


def _first_active(addresses: Any, active: Any) -> int | None:
    """The address of the first element that is really accessed."""
    flat = active.reshape(-1)
    first = int(flat.argmax()) if flat.size else 0
    return int(addresses.reshape(-1)[first]) if flat.size and flat[first] else None
