"""All that one case asks of a kernel: its inputs, and each call with what changes before it and the right answer."""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import numpy as np

from mjolnir.core.cases import Case
from mjolnir.oracle.attention import attend, attend_changed
from mjolnir.oracle.change import PageChange, apply_change, change_page
from mjolnir.oracle.inputs import V_HALF, Inputs, make_inputs
from mjolnir.oracle.online_softmax import Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call of `decode`, in the same buffers as the call before it."""

    expected: Floats
    """(batch, num_q_heads, head_dim), exact"""
    change: PageChange | None = None
    """To be put in place before the call."""
    is_refilled: bool = True
    """Whether `out` is filled with NaN before the call; not for the second of a double call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """Inputs as they stand before the first call, and the calls in order."""

    case: Case
    inputs: Inputs
    calls: tuple[Call, ...]
    log_sum: Floats
    """(batch, num_q_heads), exact: the LSE, which no change of V moves"""


def make_trial(case: Case, seed: int) -> Trial:
    """Inputs, changes and exact answers of `case`: fixed by the seed and the case, whatever else is planned."""
    rng = np.random.default_rng([seed, zlib.crc32(case.name.encode())])
    inputs = make_inputs(case, rng)
    exact = attend(inputs)
    calls = [Call(expected=exact.output)]
    if case.double_call:
        calls.append(Call(expected=exact.output, is_refilled=False))
    old_pages = []
    for _ in range(case.changed_calls):
        change = change_page(inputs, exact, case.family, rng)
        exact = attend_changed(inputs, exact, change)
        calls.append(Call(expected=exact.output, change=change))
        old_pages.append((change, apply_change(inputs.kv_cache, change)))
    for change, old in reversed(old_pages):
        inputs.kv_cache[change.page_id, V_HALF] = old
    return Trial(case=case, inputs=inputs, calls=tuple(calls), log_sum=exact.log_sum)
