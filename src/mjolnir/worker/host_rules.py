"""What host code of a kernel may not do where no device is, and the words in which it is told."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from mjolnir.worker.stub_driver import HostCodeError

_AUTOTUNE = (
    "triton.autotune: it would time a launcher that does nothing here, and on a device its trials would run inside the "
    "measured calls; write the chosen configuration into the launch"
)


def forbid_tuning_and_cuda(kernel_path: str) -> None:
    """From here on an autotuned kernel, and torch.cuda in the file at `kernel_path`, raise HostCodeError."""
    import torch
    from triton.runtime import autotuner

    def refuse(*_: Any, **__: Any) -> None:
        raise HostCodeError(_AUTOTUNE)

    autotuner.Autotuner.__init__ = refuse
    torch.cuda = _NoCuda(torch.cuda, kernel_path)


class _NoCuda:
    """torch.cuda for torch itself; for the kernel's file a sentence."""

    def __init__(self, module: ModuleType, kernel_path: str) -> None:
        object.__setattr__(self, "_module", module)
        object.__setattr__(self, "_kernel_path", kernel_path)

    def __getattribute__(self, name: str) -> Any:
        if sys._getframe(1).f_code.co_filename == object.__getattribute__(self, "_kernel_path"):
            raise HostCodeError(
                f"torch.cuda.{name} in host code: there is no device here. Use q.device for tensors, and "
                "triton.runtime.driver.active for what the device has"
            )
        return getattr(object.__getattribute__(self, "_module"), name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(object.__getattribute__(self, "_module"), name, value)
