"""A Triton driver without a device: what decode would launch is compiled as usual, written down, and not launched.

Host code runs unchanged on CPU tensors. The driver answers what a device would (capability, SMs, shared memory), and
Triton's own checks run: a kernel that wants more shared or tensor memory than there is raises OutOfResources here as it
would there. Compilation ends at PTX: behind the worker's walls no program can be started, so the last step is left to
the parent, together with the very options that Triton chose for it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from mjolnir.worker.ttgir_loops import dots_of_main_loop

_TEXT_CHARS = 300
_MAX_LAUNCHES = 64
_MAX_UNITS = 64
_MAX_PTX_CHARS = 8 << 20
_MAX_GRID_YZ = 65_535
"""Largest second and third extent of a grid (CUDA C++ Programming Guide, technical specifications)."""


class HostCodeError(Exception):
    """What decode may not do where there is no device, in words for people."""


class Recorder:
    """Launches of the call in progress, and every program that was compiled for any call.

    `storages`: {address of a tensor's storage: its name}, so that a launch can say which tensor it was given.
    """

    def __init__(self) -> None:
        self.launches: list[dict[str, Any]] = []
        self.units: dict[str, dict[str, Any]] = {}
        self.storages: dict[int, str] = {}

    def start_call(self, tensors: Mapping[str, Any]) -> None:
        """A call of decode with these tensors begins."""
        self.launches = []
        self.storages = {t.untyped_storage().data_ptr(): name for name, t in tensors.items()}

    def add_launch(self, src: Any, metadata: Any, grid: tuple[int, int, int], values: tuple[Any, ...]) -> None:
        if len(self.launches) >= _MAX_LAUNCHES:
            raise HostCodeError(f"one call of decode makes more than {_MAX_LAUNCHES} launches")
        self.launches.append(
            {
                "kernel": str(metadata.name),
                "grid": grid,
                "warps": metadata.num_warps,
                "stages": metadata.num_stages,
                "ctas_per_cluster": getattr(metadata, "num_ctas", 1),
                "shared_bytes": metadata.shared,
                "tmem_columns": getattr(metadata, "tmem_size", None) or 0,
                "is_cooperative": bool(getattr(metadata, "launch_cooperative_grid", False)),
                "uses_pdl": bool(getattr(metadata, "launch_pdl", False)),
                "arguments": [self._argument(p, value) for p, value in zip(src.fn.params, values, strict=True)],
                "unit": metadata.hash,
            }
        )

    def add_unit(self, key: str, ptx: str, argv: list[str], dots: int) -> None:
        """A compiled program: its PTX and the command line by which Triton would have it assembled."""
        if len(self.units) >= _MAX_UNITS or len(ptx) > _MAX_PTX_CHARS:
            raise HostCodeError(f"decode compiles more than {_MAX_UNITS} programs, or one of more than 8 MiB of PTX")
        # [ptxas, options ..., source, "-o", object]
        self.units[key] = {"ptx": ptx, "tool": os.path.basename(argv[0]), "options": argv[1:-3], "loop_dots": dots}

    def _argument(self, parameter: Any, value: Any) -> dict[str, str]:
        kind = "constexpr" if parameter.is_constexpr else _kind(value)
        text = self._tensor(value) if kind == "tensor" else repr(getattr(value, "value", value))
        return {"name": str(parameter.name)[:_TEXT_CHARS], "kind": kind, "text": text[:_TEXT_CHARS]}

    def _tensor(self, value: Any) -> str:
        tensor = getattr(value, "base", value)
        if not hasattr(tensor, "untyped_storage"):
            return f"{type(value).__name__} {value!r}"
        name = self.storages.get(tensor.untyped_storage().data_ptr(), "new")
        block = f" block {tuple(value.block_shape)}" if hasattr(value, "block_shape") else ""
        where = f"{name}+{tensor.storage_offset()}"
        return f"{where} {getattr(value, 'dtype', tensor.dtype)} {tuple(tensor.shape)} {tensor.stride()}{block}"


def _kind(value: Any) -> str:
    if value is None:
        return "none"
    for kind in (bool, int, float):
        if isinstance(value, kind):
            return kind.__name__
    return "tensor" if hasattr(value, "data_ptr") or hasattr(value, "block_shape") else "other"


class StubDriver:
    """In the place of triton.backends.driver.DriverBase, whose methods these are.

    `device`: capability, sm_count, shared_per_cta_bytes.
    """

    def __init__(self, device: Mapping[str, int], recorder: Recorder) -> None:
        self.capability = device["capability"]
        self.utils = _Utils(device)
        self.launcher_cls: Callable[[Any, Any], Any] = lambda src, metadata: _Launcher(recorder, src, metadata)

    def is_active(self) -> bool:
        return True

    def get_current_target(self) -> Any:
        from triton.backends.compiler import GPUTarget

        return GPUTarget("cuda", self.capability, 32)

    def get_current_device(self) -> int:
        return 0

    def set_current_device(self, device: int) -> None:
        del device

    def get_current_stream(self, device: int) -> int:
        del device
        return 0

    def get_device_capability(self, device: int = 0) -> tuple[int, int]:
        del device
        return divmod(self.capability, 10)

    def get_active_torch_device(self) -> Any:
        import torch

        return torch.device("cpu")

    def map_python_to_cpp_type(self, ty: str) -> str:
        return ty

    def get_device_interface(self) -> Any:
        raise HostCodeError("decode asks for torch's device interface, and there is no device here; use q.device")

    def get_benchmarker(self) -> Any:
        raise HostCodeError("decode times its own launches, and nothing is launched here")


class _Utils:
    """What Triton asks of the device's driver. Clocks and bus width are not known: 1, so that nobody divides by 0."""

    def __init__(self, device: Mapping[str, int]) -> None:
        self._device = device

    def get_device_properties(self, device: int) -> dict[str, int]:
        del device
        return {
            "max_shared_mem": self._device["shared_per_cta_bytes"],
            "multiprocessor_count": self._device["sm_count"],
            "max_num_regs": 65_536,
            "warpSize": 32,
            "sm_clock_rate": 1,
            "mem_clock_rate": 1,
            "mem_bus_width": 1,
        }

    def load_binary(self, name: str, kernel: bytes, shared: int, device: int) -> tuple[None, None, int, int, int]:
        """(module, function, registers, spills, threads a CTA): nothing is loaded, and 1,024 threads are allowed."""
        del name, kernel, shared, device
        return None, None, 0, 0, 1024

    def unload_module(self, module: Any) -> None:
        del module


class _Launcher:
    """Writes a launch down where the driver's own launcher would start it."""

    def __init__(self, recorder: Recorder, src: Any, metadata: Any) -> None:
        self._recorder, self._src, self._metadata = recorder, src, metadata

    def __call__(self, x: int, y: int, z: int, stream: int, *rest: Any) -> None:
        """`rest`: function, packed metadata, launch metadata, two hooks, then the arguments."""
        if max(y, z) > _MAX_GRID_YZ:
            raise HostCodeError(
                f"the grid {(x, y, z)} is beyond CUDA's {_MAX_GRID_YZ:,} in its second and third extent"
            )
        size_bytes = getattr(self._metadata, "global_scratch_size", 0) or 0
        if size_bytes:
            from triton.runtime import _allocation

            programs = x * y * z * getattr(self._metadata, "num_ctas", 1)
            allocate = _allocation._allocator.get()  # raises as on a device where the host code set none
            allocate(programs * size_bytes, self._metadata.global_scratch_align, stream)
        self._recorder.add_launch(self._src, self._metadata, (x, y, z), rest[5:])


def install(device: Mapping[str, int], recorder: Recorder, ptxas_versions: Mapping[str, str]) -> None:
    """Make this process's Triton compile for `device` without starting a program.

    ptxas_versions: {"ptxas": "12.8", "ptxas-blackwell": "13.4"}, as the parent read them: they decide the PTX version.
    """
    from triton import knobs
    from triton.backends.nvidia import compiler
    from triton.runtime import cache, driver

    def tool(path: str) -> Any:
        version = ptxas_versions.get(os.path.basename(path))
        return None if version is None else knobs.NvidiaTool(path, version)

    knobs.NvidiaTool.from_path = staticmethod(tool)
    compiler.get_ptxas_version = lambda arch=0: str(sorted(ptxas_versions.items()))
    cache.triton_key = lambda: "static"  # else it reads half a gigabyte of compiler to name the files of one process
    _end_at_ptx(compiler, recorder)
    driver.set_active(StubDriver(device, recorder))


def _end_at_ptx(compiler: Any, recorder: Recorder) -> None:
    """Triton assembles by a command line: it is kept, with the PTX, and not run."""
    commands: list[list[str]] = []
    compiler.subprocess = _NoPrograms(commands, compiler.subprocess)
    original = compiler.CUDABackend.add_stages

    def add_stages(backend: Any, stages: dict[str, Any], *args: Any) -> None:
        original(backend, stages, *args)
        make_ttgir, make_cubin, dots = stages["ttgir"], stages["cubin"], [0]

        def ttgir(src: Any, metadata: dict[str, Any]) -> Any:
            module = make_ttgir(src, metadata)
            dots[0] = dots_of_main_loop(str(module))
            return module

        def cubin(src: str, metadata: dict[str, Any]) -> Any:
            nothing = make_cubin(src, metadata)
            recorder.add_unit(metadata["hash"], src, commands.pop(), dots[0])
            return nothing

        stages["ttgir"], stages["cubin"] = ttgir, cubin

    compiler.CUDABackend.add_stages = add_stages


class _NoPrograms:
    """In the place of `subprocess` in Triton's compiler."""

    def __init__(self, commands: list[list[str]], original: Any) -> None:
        self.CalledProcessError = original.CalledProcessError
        self._commands = commands

    def run(self, argv: list[str], **_: Any) -> None:
        """Keep the command line; its object file is there, and empty."""
        Path(argv[argv.index("-o") + 1]).touch()
        self._commands.append([str(word) for word in argv])
