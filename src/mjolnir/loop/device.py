"""The device of a run, held by one measurement at a time."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from mjolnir.loop.surroundings import Surroundings
from mjolnir.store.device_lock import device_lock


@contextlib.contextmanager
def hold_device(name: str, around: Surroundings) -> Iterator[None]:
    """Hold the device `name`; who holds it before is told once. Raises EnvironmentFault E_DEVICE_LOCK."""

    def tell_of_queue(pid: int | None) -> None:
        holder = f"process {pid}" if pid is not None else "another process"
        around.notice(f"{holder} is measuring on {name}: waiting for it (Ctrl-C gives up)")

    with device_lock(name, tell_of_queue):
        yield
