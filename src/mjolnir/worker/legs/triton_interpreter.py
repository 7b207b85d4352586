"""A Triton kernel on the CPU: torch tensors over the arena, Triton's interpreter with exact arithmetic, no GPU.

To the kernel's host code the device is one of Thor's size: it asks Triton's active driver how many SMs there are.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from mjolnir.core.gpu_arch import ARCHES
from mjolnir.worker.legs import Leg

_TORCH_NAMES = {"bfloat16": "bfloat16", "float8_e4m3fn": "float8_e4m3fn"}
"""numpy has no such dtypes of its own, so torch takes the bits and is told what they are."""


def make_leg() -> Leg:
    """Import torch and Triton (before the walls go up) and correct the interpreter. Raises InterpreterError for a
    version of Triton that it was not tested on."""
    os.environ["TRITON_INTERPRET"] = "1"
    os.environ["TRITON_DEFAULT_FP_FUSION"] = "1"
    import torch
    from triton.runtime import driver

    from mjolnir.worker.exact_interpreter import make_exact
    from mjolnir.worker.legs.candidate import load_decode
    from mjolnir.worker.stub_driver import Recorder, StubDriver

    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True, warn_only=True)  # torch.empty is NaN then: fresh memory is no zeros
    make_exact()
    driver.set_active(StubDriver(ARCHES["sm_110a"].driver_answers(), Recorder()))
    return Leg(load=load_decode, wrap=as_tensor, form=_tensor_form)


def as_tensor(array: Any) -> Any:
    """A torch tensor over the same memory as a numpy array, ml_dtypes included."""
    import torch

    name = _TORCH_NAMES.get(array.dtype.name)
    if name is None:
        return torch.from_numpy(array)
    bits = array.view(np.uint8 if array.dtype.itemsize == 1 else np.int16)
    return torch.from_numpy(bits).view(getattr(torch, name))


def _tensor_form(tensor: Any) -> tuple[Any, ...]:
    return tuple(tensor.shape), tensor.dtype, tensor.stride(), tensor.data_ptr()
