"""Shared memory between the parent and one worker: the parent writes inputs in place, the worker sees them."""

from __future__ import annotations

import contextlib
import mmap
import os
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from mjolnir.sandbox.fds import move_fd

ALIGN_BYTES = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """Where an array lies: byte offset, shape, numpy dtype name."""

    offset_bytes: int
    shape: tuple[int, ...]
    dtype: str
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Arena:
    """`view` spans the whole memory; `fd` goes to the worker."""

    fd: int
    size_bytes: int
    view: memoryview

    def write(self, slot: Slot, data: memoryview) -> None:
        """Copy raw bytes to a slot."""
        self.view[slot.offset_bytes : slot.offset_bytes + slot.size_bytes] = data

    def read(self, slot: Slot) -> memoryview:
        """The slot's bytes, in place."""
        return self.view[slot.offset_bytes : slot.offset_bytes + slot.size_bytes]


def place(arrays: Mapping[str, tuple[tuple[int, ...], str, int]]) -> dict[str, Slot]:
    """Page-aligned slots from the start of an arena for arrays given as name -> (shape, dtype name, size in bytes).

    Every case starts at offset 0, so that one case's buffers lie where the last one's lay.
    """
    slots: dict[str, Slot] = {}
    offset = 0
    for name, (shape, dtype, size_bytes) in arrays.items():
        slots[name] = Slot(offset_bytes=offset, shape=shape, dtype=dtype, size_bytes=size_bytes)
        offset += -(-size_bytes // ALIGN_BYTES) * ALIGN_BYTES
    return slots


@contextlib.contextmanager
def open_arena(size_bytes: int) -> Iterator[Arena]:
    """Anonymous shared memory of `size_bytes` (rounded up); pages that nobody touches cost nothing."""
    size_bytes = -(-size_bytes // mmap.ALLOCATIONGRANULARITY) * mmap.ALLOCATIONGRANULARITY
    fd = move_fd(_anonymous_file())
    try:
        os.ftruncate(fd, size_bytes)
        memory = mmap.mmap(fd, size_bytes)
        view = memoryview(memory)
        try:
            yield Arena(fd=fd, size_bytes=size_bytes, view=view)
        finally:
            # A numpy view that is still alive (an exception's frame holds it) keeps the map until it is collected.
            with contextlib.suppress(BufferError):
                view.release()
                memory.close()
    finally:
        os.close(fd)


def _anonymous_file() -> int:
    if hasattr(os, "memfd_create"):
        return os.memfd_create("mjolnir-arena")
    fd, path = tempfile.mkstemp(prefix="mjolnir-arena-")
    os.unlink(path)
    return fd
