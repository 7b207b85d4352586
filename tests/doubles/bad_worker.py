"""A double of a worker program (worker/serve.py) that speaks its protocol wrongly, each way under a name.

    python bad_worker.py WAY COMMANDS ANSWERS

COMMANDS and ANSWERS are the worker's ends of the two pipes. Unless its way is about the start, it stands and takes
`load` and `bind` as a right worker does; what happens at the first `call` (or at once) is its way. It sleeps by waiting
for a signal that nobody sends, so it ends by being killed alone.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys

OUT_BYTES = 64
DONE, FAILED = b"\0", b"\1"
GO_ON = signal.SIGUSR1
"""What the way `late` waits for."""


def sleep():
    while True:
        signal.pause()


def is_at_call(commands, answers, after_bind=b""):
    """Do as a right worker does until the first call. `after_bind`: bytes behind the answer to `bind`, in one write."""
    os.write(answers, DONE)
    while True:
        command = os.read(commands, 1)
        if command == b"G":
            return
        size = int.from_bytes(os.read(commands, 4), "little")
        while size:
            size -= len(os.read(commands, size))
        os.write(answers, DONE + (after_bind if command == b"C" else b""))


def at_call(data, *, then=sleep):
    """A way that answers the first call with `data`."""

    def way(commands, answers):
        is_at_call(commands, answers)
        os.write(answers, data)
        then()

    return way


def at_start(data, *, then=sleep):
    """A way that begins with `data` in the place of the byte that says it stands."""

    def way(commands, answers):
        os.write(answers, data)
        then()

    return way


def leave():
    os._exit(0)


def stop():
    os.kill(os.getpid(), signal.SIGSTOP)


def early(commands, answers):
    is_at_call(commands, answers, after_bind=DONE + bytes(OUT_BYTES))
    sleep()


def early_and_gone(commands, answers):
    """An answer in advance, then the end: what stands in the pipe must not pass for an answer."""
    os.write(answers, DONE + DONE + DONE + DONE + bytes(OUT_BYTES))
    leave()


def late(commands, answers):
    signal.pthread_sigmask(signal.SIG_BLOCK, {GO_ON})
    is_at_call(commands, answers)
    signal.sigwait({GO_ON})
    os.write(answers, DONE + bytes(OUT_BYTES))
    sleep()


def closes_answers(commands, answers):
    is_at_call(commands, answers)
    os.close(answers)
    sleep()


def closes_commands(commands, answers):
    """It answers the call rightly, and hears no other."""
    is_at_call(commands, answers)
    os.close(commands)
    os.write(answers, DONE + bytes(OUT_BYTES))
    sleep()


def drips(commands, answers):
    is_at_call(commands, answers)
    for byte in DONE + bytes(OUT_BYTES):
        os.write(answers, bytes([byte]))
        select.select([], [], [], 0.05)
    sleep()


def floods(commands, answers):
    is_at_call(commands, answers)
    while True:
        os.write(answers, bytes(1 << 16))


def has_children(commands, answers):
    """A child in its group holds both pipes and its prints open."""
    subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"], pass_fds=(commands, answers))
    is_at_call(commands, answers)
    leave()


def text(data, *, claimed=None):
    """A failure with a text, or with a length that the text does not have."""
    return FAILED + (len(data) if claimed is None else claimed).to_bytes(4, "little") + data


WAYS = {
    "never stands": at_start(b""),
    "stands wrongly": at_start(b"\x07"),
    "ends before it stands": at_start(b"", then=leave),
    "deaf": at_start(DONE),
    "early": early,
    "early and gone": early_and_gone,
    "garbage status": at_call(b"\xff" * 100),
    "silent": at_call(b""),
    "late": late,
    "exits": at_call(b"", then=leave),
    "stopped": at_call(b"", then=stop),
    "too few": at_call(DONE + bytes(OUT_BYTES - 1)),
    "too few and gone": at_call(DONE + bytes(OUT_BYTES - 1), then=leave),
    "too many": at_call(DONE + bytes(OUT_BYTES + 500)),
    "floods": floods,
    "drips": drips,
    "closes answers": closes_answers,
    "closes commands": closes_commands,
    "half a header": at_call(FAILED + b"\x10\x00"),
    "half a header and gone": at_call(FAILED + b"\x10\x00", then=leave),
    "half a text": at_call(text(b"half", claimed=100)),
    "huge claim": at_call(text(b"", claimed=0xFFFFFFFF)),
    "not UTF-8": at_call(text(b"\xff\xfe\x00[/red]\x1b[31m")),
    "no JSON": at_call(text(b'{"seconds": NaN')),
    "has children": has_children,
}

if __name__ == "__main__":
    WAYS[sys.argv[1]](int(sys.argv[2]), int(sys.argv[3]))
