"""Runs the text of a Triton kernel in the interpreter of this process: the cases of `verify correctness`, one by one.

For the process of interpreted.py only. Plan, inputs, oracle, comparison and the interpreter's corrections are those of
the target `interpreter`; its confined workers are left out, which makes a broken kernel of a hundred cost a second.
"""

from __future__ import annotations

import inspect
import mmap
import tempfile
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from mutant import FAR_PAGES, FRESH_MEMORY, LSE, SINK

from mjolnir.core.interpreter_plan import plan_interpreter_cases
from mjolnir.core.workload import PagedDecode
from mjolnir.oracle.change import apply_change
from mjolnir.oracle.check import OUT_FILL_BITS, check_log_sum, check_output
from mjolnir.oracle.inputs import Inputs
from mjolnir.oracle.trial import Trial, make_trial
from mjolnir.worker.legs.triton_interpreter import as_tensor, make_leg

FAR_ELEMENTS = 2**31
MAP_NORESERVE = 0x4000
"""As Linux has it; the name is not in every Python's mmap."""

# The first such call imports for more than a second: here, once for all forks.
torch.use_deterministic_algorithms(False)


def load_decode(text: str, *, fresh_memory_is_nan: bool = True):
    """`decode` of a kernel's text, as a worker of the target loads it, with NaN in memory that is new."""
    leg = make_leg()
    torch.use_deterministic_algorithms(fresh_memory_is_nan, warn_only=True)  # fills what torch.empty gives
    path = Path(tempfile.mkdtemp()) / "kernel.py"
    path.write_text(text)
    return leg.load(str(path))


def check(text, *, q_dtype, seed, shape=None, only="", without="", fail_fast=True):
    """What is wrong with a kernel, as [(case, call, what)]; empty: nothing.

    only     cases whose name holds it
    without  a part of the check that is left out: one of mutant.py's LSE, FAR_PAGES, FRESH_MEMORY, SINK
    """
    decode = load_decode(text, fresh_memory_is_nan=without != FRESH_MEMORY)
    workload = PagedDecode(**(shape or {}))
    found = []
    for trial in _trials(workload, q_dtype, seed, only, without):
        for number, what in _run(decode, trial, without != LSE):
            found.append((trial.case.name, number, what))
            if fail_fast:
                return found
    return found


def _trials(workload, q_dtype, seed, only, without):
    for case in plan_interpreter_cases(workload, quick=True, seed=seed, q_dtypes=(q_dtype,), match=only):
        if case.has_sinks and without == SINK:
            continue
        if not case.has_far_pages:
            yield make_trial(case, seed)
        elif without != FAR_PAGES:
            yield far_apart(make_trial(case, seed))


def _run(decode, trial: Trial, with_lse: bool):
    """(number of the call, what is wrong) for each call whose answer is wrong."""
    inputs, tensors = trial.inputs, to_torch(trial.inputs)
    out = np.empty(inputs.q.shape, np.int16)
    lse = np.empty(inputs.q.shape[:2], np.float32)
    for number, call in enumerate(trial.calls):
        if call.change is not None:
            apply_change(inputs.kv_cache, call.change)
        if call.is_refilled:
            out.view(np.uint16)[...] = OUT_FILL_BITS
        lse[...] = np.nan
        try:
            call_decode(decode, inputs, tensors, torch.from_numpy(out).view(torch.bfloat16), torch.from_numpy(lse))
        except NotImplementedError as e:
            if trial.case.required:
                yield number, f"unsupported: {e}"
            return
        except Exception as e:  # noqa: BLE001  # a kernel that raises is wrong
            yield number, f"raised {type(e).__name__}: {e}"
            return
        what = check_output(out.view(np.uint16), call.expected, trial.case).detail
        if with_lse and not what:
            what = check_log_sum(lse, trial.log_sum)
        if what:
            yield number, what


def call_decode(decode, inputs: Inputs, tensors, out, lse):
    """One call. A kernel that takes no lse is asked for none."""
    wants_lse = lse is not None and "lse" in inspect.signature(decode).parameters
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        decode(
            *tensors,
            sm_scale=inputs.sm_scale,
            q_scale=inputs.q_scale,
            k_scale=inputs.k_scale,
            v_scale=inputs.v_scale,
            out=out,
            **({"lse": lse} if wants_lse else {}),
        )


def to_torch(inputs: Inputs):
    """q, kv_cache, page_table, seq_lens in the memory of the arrays."""
    return [as_tensor(a) for a in (inputs.q, inputs.kv_cache, inputs.page_table, inputs.seq_lens)]


def far_apart(trial: Trial) -> Trial:
    """`trial` with its pages moved to where an element's offset in kv_cache passes 2**31.

    What lies before them is reserved and never touched, so that it costs nothing; an offset that wraps around finds
    zeros there.
    """
    near = trial.inputs.kv_cache
    first = FAR_ELEMENTS // near[0].size
    size_bytes = 2 * FAR_ELEMENTS * near.itemsize + near.nbytes
    reserved = mmap.mmap(-1, size_bytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | MAP_NORESERVE)
    kv_cache = np.frombuffer(reserved, near.dtype).reshape(-1, *near.shape[1:])[first:]
    kv_cache[first:] = near
    table = trial.inputs.page_table
    inputs = replace(trial.inputs, kv_cache=kv_cache, page_table=np.where(table < 0, table, table + np.int32(first)))
    calls = [c if c.change is None else replace(c, change=_moved(c.change, first)) for c in trial.calls]
    return replace(trial, inputs=inputs, calls=tuple(calls))


def _moved(change, by):
    return replace(change, page_id=change.page_id + by)
