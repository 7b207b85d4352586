"""One leg under the clock: before each call its inputs change in place, and every answer is kept to be verified."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from mjolnir.oracle.check import CheckResult, check_output
from mjolnir.oracle.inputs import Inputs
from mjolnir.oracle.timed import TimedInputs, patch
from mjolnir.sandbox.process import Reply, ReplyKind
from mjolnir.targets.cpu_clock import Block
from mjolnir.targets.cpu_leg import Leg

MAX_IDLE_CPU_S = 0.05
"""A worker that is not called looks for a command for some 2 ms, then sleeps; more is work behind the clock's back."""


class TimedLeg:
    """Runs the calls of `timed` in their order; `used` counts them. `kv_cache` mirrors what the arena must hold."""

    def __init__(self, leg: Leg, timed: TimedInputs) -> None:
        self.leg = leg
        self.timed = timed
        self.used = 0
        self.outs: list[NDArray[np.uint16]] = []
        self.failure: Reply | None = None
        self.idle_cpu_s = 0.0
        self._kv_cache = timed.base.kv_cache.copy()
        self._cpu_after: float | None = None

    def put(self, deadline: float) -> bool:
        """Write the base inputs; False (and `failure`) when the worker did not take them."""
        reply = self.leg.put(replace(self.timed.base, q=self.timed.q[0]), deadline)
        return self._took(reply)

    @property
    def left(self) -> int:
        """Timed inputs that are not used up."""
        return self.timed.num_calls - self.used

    def block(self, calls: int, deadline: float) -> Block | None:
        """`calls` calls by the parent's clock, each from its command to the last byte of its output; None: failed.

        Writing the next inputs between two calls is outside the clock. The witness is the CPU time of the worker over
        the whole block: it computes, or spins for the next command.
        """
        calls = min(calls, self.left)
        first, cpu_before, start = self.used, self._cpu_seconds(), time.perf_counter()
        self._note_idle(cpu_before)
        total_s = 0.0
        for _ in range(calls):
            self._prepare()
            reply = self.leg.call(deadline)
            if not self._took(reply):
                return None
            total_s += reply.seconds
            self.outs.append(np.frombuffer(reply.out, np.uint16))
        wall_s, cpu_after = time.perf_counter() - start, self._cpu_seconds()
        self._cpu_after = cpu_after
        known = cpu_before is not None and cpu_after is not None
        return Block(
            role=self.leg.role,
            mean_us=1e6 * total_s / calls,
            cpu_share=(cpu_after - cpu_before) / wall_s if known else None,  # type: ignore[operator]
            calls=(first, self.used),
        )

    def changed_input(self) -> str | None:
        """The name of an input that the worker changed since `put`; None: all are as the harness left them."""
        now: Inputs = replace(self.timed.base, q=self.timed.q[max(0, self.used - 1)], kv_cache=self._kv_cache)
        return self.leg.first_changed(now)

    def first_wrong(self, expected: NDArray[np.float64]) -> tuple[int, CheckResult] | None:
        """The first call whose output is not `expected` (calls, batch, num_q_heads, head_dim); None: all are right."""
        for call, out in enumerate(self.outs):
            result = check_output(out.reshape(expected.shape[1:]), expected[call], self.timed.case)
            if not result.passed:
                return call, result
        return None

    def is_older_answer(self, call: int, expected: NDArray[np.float64]) -> bool:
        """True when the output of `call` is right for an earlier call's inputs."""
        out = self.outs[call].reshape(expected.shape[1:])
        return any(check_output(out, expected[old], self.timed.case).passed for old in range(call))

    def _prepare(self) -> None:
        patch(self._kv_cache, self.timed, self.used)
        patch(self.leg.kv_view(self._kv_cache), self.timed, self.used)
        self.leg.write("q", self.timed.q[self.used])
        self.leg.poison_out()
        self.used += 1

    def _took(self, reply: Reply) -> bool:
        if reply.kind != ReplyKind.DONE:
            self.failure = reply
        return reply.kind == ReplyKind.DONE

    def _cpu_seconds(self) -> float | None:
        return self.leg.worker.cpu_seconds()

    def _note_idle(self, cpu_now: float | None) -> None:
        if cpu_now is not None and self._cpu_after is not None:
            self.idle_cpu_s = max(self.idle_cpu_s, cpu_now - self._cpu_after)
