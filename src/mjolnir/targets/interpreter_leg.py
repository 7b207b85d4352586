"""A worker with a Triton kernel in the interpreter: a Leg, with an LSE where the kernel offers one, and far pages.

Far: every page id of a case is multiplied, so that the cache spans more than 2^31 elements, of which only the case's
own pages are ever touched. An offset that was computed in 32 bits then leads elsewhere.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mjolnir.oracle.check import check_log_sum
from mjolnir.oracle.inputs import Inputs
from mjolnir.oracle.trial import Trial
from mjolnir.sandbox.process import Worker
from mjolnir.targets.cpu_leg import INPUT_NAMES, Leg, raw_bytes

FAR_ELEMENTS = 2**31
"""An offset of so many elements does not fit a signed 32-bit integer."""


def far_step(cache_elements: int) -> int:
    """By how much page ids are multiplied so that all but the first two fifths of a cache lie beyond FAR_ELEMENTS."""
    return -(-5 * FAR_ELEMENTS // (2 * cache_elements))


class InterpreterLeg(Leg):
    """`offers_lse`: decode takes the keyword lse. `page_step`: what page ids are multiplied by, 1: they stay."""

    def __init__(self, worker: Worker, *, offers_lse: bool) -> None:
        super().__init__(worker, "candidate")
        self.offers_lse = offers_lse
        self.page_step = 1

    def _shapes(self, inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str, int]]:
        shapes = super()._shapes(inputs)
        shape, dtype, size_bytes = shapes["kv_cache"]
        shapes["kv_cache"] = ((shape[0] * self.page_step, *shape[1:]), dtype, size_bytes * self.page_step)
        if self.offers_lse:
            lse_shape = inputs.q.shape[:2]
            shapes["lse"] = (lse_shape, "float32", 4 * lse_shape[0] * lse_shape[1])
        return shapes

    def write(self, name: str, array: NDArray[np.generic]) -> None:
        """Replace one input in place, its pages where the kernel will look for them."""
        if name == "kv_cache" and self.page_step > 1:
            self._near_pages(array)[:] = raw_bytes(np.ascontiguousarray(array)).reshape(len(array), -1)
        else:
            super().write(name, self._as_seen(name, array))

    def poison_out(self) -> None:
        super().poison_out()
        if self.offers_lse:
            self._views["lse"].view(np.float32)[:] = np.nan

    def first_changed(self, inputs: Inputs) -> str | None:
        """As in Leg; of a cache with far pages those of the case are compared."""
        if self.page_step == 1:
            return super().first_changed(inputs)
        for name in INPUT_NAMES:
            array = getattr(inputs, name)
            seen = self._near_pages(array).reshape(-1) if name == "kv_cache" else self._views[name]
            if not np.array_equal(seen, raw_bytes(np.ascontiguousarray(self._as_seen(name, array)))):
                return name
        return None

    def further_fault(self, trial: Trial) -> str:
        if not self.offers_lse:
            return ""
        lse = self._views["lse"].view(np.float32).reshape(trial.log_sum.shape)
        return check_log_sum(lse, trial.log_sum)

    def _near_pages(self, cache: NDArray[np.generic]) -> NDArray[np.uint8]:
        """(pages of `cache`, bytes of a page) of the arena, writable."""
        return self._views["kv_cache"].reshape(len(cache) * self.page_step, -1)[:: self.page_step]

    def _as_seen(self, name: str, array: NDArray[np.generic]) -> NDArray[np.generic]:
        if name != "page_table" or self.page_step == 1:
            return array
        ids = array.astype(np.int32)
        return np.where(ids >= 0, ids * np.int32(self.page_step), ids).astype(np.int32)
