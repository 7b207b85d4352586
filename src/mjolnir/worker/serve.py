"""The worker's loop: load one kernel, then answer calls. It holds no clock, no expected value and no next input.

Protocol over two pipes; numbers are little-endian. The parent writes
    'L' u32 length, JSON {path}                          load the leg (the kernel file at path, or the trusted one)
    'C' u32 length, JSON {arrays: {name: [offset, shape, dtype]}, scalars}   point at the arrays of a case
    'G'                                                  call decode once
The worker first writes one byte 0: it stands. After each command the parent gets one status byte: 0 done ('G': followed
by the raw bytes of out), else u32 length and a text.
A call in a check and a call under the clock are the same byte, so a kernel cannot tell one from the other.
"""

from __future__ import annotations

import argparse
import json
import mmap
import os
import select
import sys
import traceback
from collections.abc import Callable
from typing import Any

from mjolnir.worker.legs import Leg, NoDecodeError

DONE, FAILED, UNSUPPORTED, CONTRACT, NO_DECODE, BAD_SOURCE = 0, 1, 2, 3, 4, 5
_SPIN_READS = 4000
"""About 2 ms of looking before the worker goes to sleep: waking up costs tens of microseconds and would be noise."""
_TEXT_BYTES = 8192
_TRACEBACK_CHARS, _MESSAGE_CHARS = 6000, 500


def main() -> None:
    args = _arguments()
    from mjolnir.worker.confine import confine, die_with_parent

    die_with_parent()
    if os.getppid() != args.parent:
        raise SystemExit("the parent is gone")
    arena = mmap.mmap(args.arena, args.arena_bytes)
    os.close(args.arena)
    _import_libraries(args.numba)
    leg = _find_leg(args.leg)
    confine(
        memory_bytes=args.memory_bytes,
        scratch=args.scratch,
        readable=args.readable,
        keeps_read_search=args.keeps_read_search,
    )
    commands, answers = args.commands, args.answers
    del args
    sys.argv, sys.orig_argv = ["worker"], ["worker"]
    os.write(answers, bytes([DONE]))  # the walls stand: what fails from here on is the kernel's doing
    _serve(commands, answers, arena, leg)


def _arguments() -> argparse.Namespace:
    p = argparse.ArgumentParser()
    for name in ("commands", "answers", "arena", "arena-bytes", "memory-bytes", "parent"):
        p.add_argument(f"--{name}", type=int, required=True)
    p.add_argument("--scratch", required=True)
    p.add_argument("--leg", choices=["candidate", "triton_interpreter", "numpy_blas"], required=True)
    p.add_argument("--readable", action="append", default=[])
    p.add_argument("--numba", action="store_true")
    p.add_argument("--keeps-read-search", action="store_true")
    return p.parse_args()


def _import_libraries(with_numba: bool) -> None:
    """Import before the walls go up: afterwards the file system is smaller."""
    import ml_dtypes  # noqa: F401  (registers its dtypes with numpy)
    import numpy  # noqa: F401

    if with_numba:
        import numba  # noqa: F401


def _serve(commands: int, answers: int, arena: mmap.mmap, leg: Leg) -> None:
    """Answer until the pipe ends. Everything used after the kernel was loaded is bound to a local name here."""
    read, write, exact, spin = os.read, os.write, _read_exact, _read_command
    load, bind, describe, write_all, answer = leg.load, _bind, _describe, _write_all, _answer
    memory = memoryview(arena)
    out_bytes = memory[0:0]
    decode: Callable[..., object] | None = None
    call: Callable[[Callable[..., object]], bool] | None = None
    done = bytes([DONE])
    os.set_blocking(commands, False)
    while command := spin(commands, read):
        try:
            if command == b"G" and decode is not None and call is not None:
                kept = call(decode)
                if not kept:
                    answer(write, answers, CONTRACT, "the call changed the shape, dtype or strides of an argument")
                    continue
                write_all(write, answers, [done, out_bytes])
                continue
            message = json.loads(exact(commands, read, int.from_bytes(exact(commands, read, 4), "little")))
            if command == b"L":
                decode = load(message["path"])
            else:
                call, out_bytes = bind(message, memory, leg)
            write_all(write, answers, [done])
        except BaseException as e:  # noqa: BLE001  (the kernel may raise anything; the parent decides what it means)
            answer(write, answers, *describe(e))


def _read_command(fd: int, read: Callable[[int, int], bytes]) -> bytes:
    """One byte, or b"" at the end of the pipe: look for a while, then sleep."""
    for _ in range(_SPIN_READS):
        try:
            return read(fd, 1)
        except BlockingIOError:
            pass
    select.select([fd], [], [])
    return read(fd, 1)


def _read_exact(fd: int, read: Callable[[int, int], bytes], size: int) -> bytes:
    data = b""
    while len(data) < size:
        try:
            part = read(fd, size - len(data))
        except BlockingIOError:
            select.select([fd], [], [])
            continue
        if not part:
            raise SystemExit
        data += part
    return data


def _write_all(write: Callable[[int, Any], int], fd: int, parts: list[Any]) -> None:
    for part in parts:
        view = memoryview(part)
        while len(view):
            view = view[write(fd, view) :]


def _answer(write: Callable[[int, Any], int], fd: int, status: int, text: str, write_all: Any = _write_all) -> None:
    data = text.encode("utf-8", "replace")[-_TEXT_BYTES:]
    write_all(write, fd, [bytes([status]), len(data).to_bytes(4, "little"), data])


def _find_leg(name: str) -> Leg:
    """Only this leg's module is imported: no other leg is at hand in a candidate's process."""
    if name == "candidate":
        from mjolnir.worker.legs.candidate import load_decode

        return Leg(load=load_decode)
    if name == "triton_interpreter":
        from mjolnir.worker.legs.triton_interpreter import make_leg

        return make_leg()
    from mjolnir.worker.legs.numpy_blas import decode

    return Leg(load=lambda path: decode)


def _bind(
    message: dict[str, Any], memory: memoryview, leg: Leg
) -> tuple[Callable[[Callable[..., object]], bool], memoryview]:
    """The call of a case (True: its arguments kept their form) and the bytes of its `out` in the arena."""
    import ml_dtypes
    import numpy as np

    dtypes = {name: np.dtype(getattr(ml_dtypes, name, None) or name) for _, _, name in message["arrays"].values()}
    arrays = {}
    for name, (offset, shape, dtype) in message["arrays"].items():
        count = int(np.prod(shape))
        arrays[name] = leg.wrap(np.frombuffer(memory, dtypes[dtype], count, offset).reshape(shape))
    form_of = leg.form
    forms = [(a, form_of(a)) for a in arrays.values()]
    out = arrays["out"]
    offset = message["arrays"]["out"][0]
    positional = [arrays[name] for name in ("q", "kv_cache", "page_table", "seq_lens")]
    keywords = {**message["scalars"], "out": out, **{name: arrays[name] for name in arrays if name == "lse"}}

    def call(decode: Callable[..., object]) -> bool:
        decode(*positional, **keywords)
        return all(form_of(a) == form for a, form in forms)

    return call, memory[offset : offset + out.nbytes]


def _describe(e: BaseException) -> tuple[int, str]:
    """Status and text of an exception: its message last, the kernel's own lines before it."""
    if isinstance(e, NotImplementedError):
        return UNSUPPORTED, str(e) or "NotImplementedError"
    if isinstance(e, NoDecodeError):
        return NO_DECODE, str(e)
    if isinstance(e, SyntaxError):
        return BAD_SOURCE, "".join(traceback.format_exception_only(e))
    try:
        message = " ".join(f"{type(e).__name__}: {e}"[:_MESSAGE_CHARS].split())
        return FAILED, "".join(traceback.format_exception(e))[:_TRACEBACK_CHARS] + f"\n{message}"
    except BaseException:  # noqa: BLE001  (an exception whose own text raises)
        return FAILED, type(e).__name__


if __name__ == "__main__":
    sys.modules.setdefault("mjolnir.worker.serve", sys.modules["__main__"])
    main()
