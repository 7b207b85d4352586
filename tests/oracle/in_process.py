"""A naive driver: the kernel runs in this process, in buffers that keep their address from case to case."""

from __future__ import annotations

import importlib.util
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mjolnir.core.cases import Case
from mjolnir.core.workload import PagedDecode
from mjolnir.oracle.change import apply_change
from mjolnir.oracle.check import OUT_FILL_BITS, CheckResult, check_output
from mjolnir.oracle.codes import DTYPES, bits_of
from mjolnir.oracle.inputs import Inputs
from mjolnir.oracle.timed import patch, timed_inputs
from mjolnir.oracle.timed_attention import attend_timed
from mjolnir.oracle.trial import make_trial

_ARENA_BYTES = 48 << 20


def load_kernel(path: Path):
    """A fresh copy of the module, with empty module-level state."""
    spec = importlib.util.spec_from_file_location(f"kernel_{path.stem.replace('-', '_')}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.decode


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    case: Case
    call: int
    result: CheckResult

    @property
    def code(self) -> str:
        return "pass" if self.result.passed else "E_UNWRITTEN" if self.result.unwritten else "incorrect"


class Driver:
    """Runs trials of a kernel. Arrays of equal shape lie at equal addresses."""

    def __init__(self) -> None:
        self._arenas = {
            name: np.zeros(_ARENA_BYTES if name == "kv_cache" else 1 << 20, np.uint8)
            for name in ("q", "kv_cache", "page_table", "seq_lens", "out")
        }

    def check(self, decode, cases: tuple[Case, ...], seed: int):
        """Each call's Answer, in order."""
        for case in cases:
            trial = make_trial(case, seed)
            live = self._load(trial.inputs)
            for number, call in enumerate(trial.calls):
                if call.change is not None:
                    apply_change(live["kv_cache"], call.change)
                if call.is_refilled:
                    bits_of(live["out"])[...] = OUT_FILL_BITS
                self._call(decode, live, trial.inputs)
                yield Answer(case=case, call=number, result=check_output(live["out"], call.expected, case))

    def check_timed(self, decode, workload: PagedDecode, length: int, num_calls: int, seed: int):
        timed = timed_inputs(workload, length, num_calls, np.random.default_rng(seed))
        expected = attend_timed(timed)
        live = self._load(timed.base)
        for number in range(num_calls):
            patch(live["kv_cache"], timed, number)
            live["q"][...] = timed.q[number]
            bits_of(live["out"])[...] = OUT_FILL_BITS
            self._call(decode, live, timed.base)
            result = check_output(live["out"], expected[number], timed.case)
            yield Answer(case=timed.case, call=number, result=result)

    def _load(self, inputs: Inputs):
        arrays = {
            "q": inputs.q,
            "kv_cache": inputs.kv_cache,
            "page_table": inputs.page_table,
            "seq_lens": inputs.seq_lens,
            "out": np.empty(inputs.q.shape, DTYPES["bf16"]),
        }
        live = {}
        for name, array in arrays.items():
            view = self._arenas[name][: array.nbytes].view(array.dtype).reshape(array.shape)
            view[...] = array
            live[name] = view
        return live

    @staticmethod
    def _call(decode, live, inputs: Inputs) -> None:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            decode(
                live["q"],
                live["kv_cache"],
                live["page_table"],
                live["seq_lens"],
                sm_scale=inputs.sm_scale,
                q_scale=inputs.q_scale,
                k_scale=inputs.k_scale,
                v_scale=inputs.v_scale,
                out=live["out"],
            )


def first_failure(answers):
    return next((a for a in answers if not a.result.passed), None)
