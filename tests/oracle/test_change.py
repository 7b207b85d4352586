"""One changed page: enough to show, and nothing else."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from tiny import tiny_case

from mjolnir.core.case_plan import plan_cases
from mjolnir.core.cases import FAMILIES
from mjolnir.core.workload import PagedDecode
from mjolnir.oracle.change import apply_change
from mjolnir.oracle.check import check_output
from mjolnir.oracle.codes import DTYPES, bits_of
from mjolnir.oracle.trial import make_trial

SMALL = PagedDecode(num_q_heads=8, num_kv_heads=2, head_dim=64)


@pytest.mark.parametrize("q_dtype", sorted(DTYPES))
@pytest.mark.parametrize("seed", range(3))
def test_the_answer_of_before_a_change_is_wrong_by_well_over_the_limit_after_it(seed, q_dtype):
    for quick in (True, False):
        for case in plan_cases(SMALL, (128, 1024), quick=quick, seed=seed, q_dtypes=(q_dtype,)):
            calls = make_trial(case, seed).calls
            for before, after in itertools.pairwise(calls):
                if after.change is not None:
                    moved = np.linalg.norm(after.expected - before.expected, axis=-1)
                    worst = (moved / np.linalg.norm(after.expected, axis=-1)).max()
                    assert worst > 5 * case.limit, case.name


@pytest.mark.parametrize("family", FAMILIES)
def test_only_used_tokens_of_one_pages_v_change(family):
    trial = make_trial(tiny_case(family, (3, 10, 21)), 5)
    change = trial.calls[-1].change
    before = trial.inputs.kv_cache.copy()
    after = before.copy()
    old = apply_change(after, change)
    differs = bits_of(before) != bits_of(after)
    assert differs.any()
    tokens = differs.any(axis=(1, 2, 4))
    assert set(np.flatnonzero(tokens.any(axis=1))) == {change.page_id}
    assert not differs[:, 0].any()
    assert not tokens[:, change.num_tokens :].any()
    assert change.page_id == trial.inputs.page_table[change.row, change.page_index]
    assert not np.isnan(change.values[:, : change.num_tokens].astype(np.float32)).any()
    after[change.page_id, 1] = old
    assert np.array_equal(bits_of(after), bits_of(before))


def test_a_trial_hands_out_the_inputs_of_its_first_call():
    case = tiny_case("gauss", (9,), changed_calls=3, double_call=True)
    trial = make_trial(case, 11)
    assert [call.change is None for call in trial.calls] == [True, True, False, False, False]
    assert [call.is_refilled for call in trial.calls] == [True, False, True, True, True]
    out = trial.calls[0].expected.astype(np.float32).astype(DTYPES["bf16"])
    assert check_output(out, trial.calls[1].expected, case).passed
    fresh = make_trial(tiny_case("gauss", (9,), changed_calls=0), 11)
    assert np.array_equal(bits_of(trial.inputs.kv_cache), bits_of(fresh.inputs.kv_cache))
