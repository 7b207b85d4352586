"""One worker with a case in its arena: put the inputs there, poison out, call, compare what must not have changed."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from mjolnir.oracle.check import OUT_FILL_BITS
from mjolnir.oracle.inputs import Inputs
from mjolnir.oracle.trial import Trial
from mjolnir.sandbox.arena import Slot, place
from mjolnir.sandbox.process import Reply, Worker

INPUT_NAMES = ("q", "kv_cache", "page_table", "seq_lens")
Bytes = NDArray[np.uint8]


def raw_bytes(array: NDArray[np.generic]) -> Bytes:
    """The bytes of a C-contiguous array, without a copy."""
    return array.reshape(-1).view(np.uint8)


class Leg:
    """`role` as in protocol.Entrant; `is_reference`: the trusted leg of this package, else a kernel."""

    def __init__(self, worker: Worker, role: str, *, is_reference: bool = False) -> None:
        self.worker = worker
        self.role = role
        self.is_reference = is_reference
        self._slots: dict[str, Slot] = {}
        self._views: dict[str, Bytes] = {}

    def put(self, inputs: Inputs, deadline: float) -> Reply:
        """Write a case to the arena and point the worker at it."""
        self._slots = place(self._shapes(inputs))
        self._views = {name: self._map(slot) for name, slot in self._slots.items()}
        for name in INPUT_NAMES:
            self.write(name, getattr(inputs, name))
        scales: Mapping[str, float] = {
            "sm_scale": inputs.sm_scale,
            "q_scale": inputs.q_scale,
            "k_scale": inputs.k_scale,
            "v_scale": inputs.v_scale,
        }
        return self.worker.bind(self._slots, scales, deadline)

    def _shapes(self, inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str, int]]:
        """{argument: shape, dtype name, size in bytes} in the order in which they lie in the arena."""
        arrays = {name: getattr(inputs, name) for name in INPUT_NAMES}
        shapes = {name: (a.shape, a.dtype.name, a.nbytes) for name, a in arrays.items()}
        return shapes | {"out": (inputs.q.shape, "bfloat16", 2 * math.prod(inputs.q.shape))}

    def _map(self, slot: Slot) -> Bytes:
        return np.frombuffer(self.worker.arena.view, np.uint8, slot.size_bytes, slot.offset_bytes)

    def write(self, name: str, array: NDArray[np.generic]) -> None:
        """Replace one input in place."""
        self._views[name][:] = raw_bytes(np.ascontiguousarray(array))

    def kv_view(self, like: NDArray[np.generic]) -> NDArray[np.generic]:
        """The KV cache in the arena, writable, in the shape and dtype of `like`."""
        return self._views["kv_cache"].view(like.dtype).reshape(like.shape)

    def poison_out(self) -> None:
        """Fill out with the harness's own NaN pattern, so that an element nobody wrote is seen."""
        self._views["out"].view(np.uint16)[:] = OUT_FILL_BITS

    def further_fault(self, trial: Trial) -> str:
        """What else is wrong after a call whose `out` was right; empty: nothing."""
        return ""

    def call(self, deadline: float) -> Reply:
        return self.worker.call(deadline)

    def first_changed(self, inputs: Inputs) -> str | None:
        """The name of an input whose bytes in the arena are not those of `inputs`; None when all are."""
        for name in INPUT_NAMES:
            if not np.array_equal(self._views[name], raw_bytes(np.ascontiguousarray(getattr(inputs, name)))):
                return name
        return None

    def release(self) -> None:
        """Drop the views, so that the arena can be unmapped."""
        self._views = {}
