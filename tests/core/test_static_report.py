"""A report of counted facts: rows, bytes, floor, and when two kernels are one program to a device."""

from dataclasses import replace

import pytest

from doubles.static_reports import attend, call, code, merge, report, traffic
from mjolnir.core.gpu_arch import ARCHES
from mjolnir.core.static_change import compare_reports
from mjolnir.core.static_facts import Argument, Call, is_same_program
from mjolnir.core.static_report import report_json, worst_ratio


def test_a_row_is_a_distinct_launch_with_its_lengths():
    rows = [(f.launch.kernel, f.launch.grid, f.lengths) for f in report().launches]
    assert rows == [
        ("attend", (4, 1, 1), (128,)),
        ("merge", (24, 1, 1), (128, 4096, 32768)),
        ("attend", (4, 10, 1), (4096, 32768)),
    ]


def test_instructions_per_kv_row_are_those_of_all_warps_over_the_rows_of_a_pass():
    first, merging, _ = report().launches
    assert first.instructions_per_kv_row == 640 * 4 / 64
    assert merging.instructions_per_kv_row is None


def test_a_length_whose_pass_was_not_seen_borrows_the_rows_of_another():
    unseen = replace(call(4096), traffic=(traffic(4096, rows_per_iteration=None), traffic(4096, 0.0)))
    *_, row = report(unseen, call(32768)).launches[:1]
    assert row.rows_per_iteration == 64


def test_bytes_are_a_ratio_to_the_kv_bytes_of_each_length():
    found = report(call(4096, ratio=1.01), call(32768, ratio=1.005))
    assert found.launches[0].bytes_ratio == pytest.approx({4096: 1.01, 32768: 1.005}, rel=1e-6)
    assert worst_ratio(found) == pytest.approx(1.01, rel=1e-6)
    assert worst_ratio(found, 32768) == pytest.approx(1.005, rel=1e-6)


def test_bytes_that_were_not_counted_are_null_and_not_one():
    found = report(call(4096, counted=False))
    assert worst_ratio(found) is None
    answer = report_json(found)["launches"][0]
    assert (answer["bytes_ratio"], answer["instructions_per_kv_row"]) == (None, None)


def test_a_kernel_that_is_launched_twice_in_a_call_adds_up():
    twice = Call(q_dtype="bf16", length=4096, launches=(attend(4096),) * 2, traffic=(traffic(4096, 0.5),) * 2)
    (row,) = report(twice).launches
    assert row.bytes_ratio[4096] == pytest.approx(1.0)


def test_programs_that_differ_in_a_grid_make_an_estimate_and_say_so():
    uneven = replace(call(4096), traffic=(traffic(4096, is_uniform=False), traffic(4096, 0.0)))
    assert ["attend" in note and "estimate" in note for note in report(uneven).notes] == [True]


def test_the_floor_is_there_only_where_the_kv_does_not_fit_the_cache():
    found = report(call(16384), call(32768), call(262144))
    assert found.floor_us == pytest.approx({32768: 245.8, 262144: 1966.5}, rel=1e-3)
    assert report(call(32768), bandwidth_gbps=546.0).floor_us[32768] == pytest.approx(122.9, rel=1e-3)


def changed(**changes):
    return report(*(call(n, attend(n, **changes), merge()) for n in (128, 4096)))


BASE = report(call(128), call(4096))


def test_names_make_no_other_program():
    renamed = tuple(Argument(name=f"x{i}", kind=a.kind, text=a.text) for i, a in enumerate(attend(128).arguments))
    other = report(
        call(128, attend(128, kernel="main", arguments=renamed), merge()),
        call(4096, attend(4096, kernel="main"), merge(kernel="join")),
    )
    assert is_same_program(BASE, other)


@pytest.mark.parametrize(
    "change",
    [
        {"machine": code(sass_hash="c" * 64)},
        {"grid": (4, 8, 1)},
        {"warps": 8},
        {"stages": 4},
        {"shared_bytes": 80_000},
        {"ctas_per_cluster": 2},
        {"uses_pdl": True},
        {"arguments": (Argument(name="num_pages", kind="int", text="7"),)},
    ],
    ids=lambda change: next(iter(change)),
)
def test_what_a_device_can_tell_makes_another_program(change):
    assert not is_same_program(BASE, changed(**change))


def test_a_change_at_one_length_alone_makes_another_program():
    other = report(call(128), call(4096, attend(4096, grid=(4, 9, 1)), merge()))
    assert not is_same_program(BASE, other)


def test_another_order_of_launches_makes_another_program():
    assert not is_same_program(report(call(128, attend(128), merge())), report(call(128, merge(), attend(128))))


def test_reports_over_other_lengths_or_devices_are_never_the_same_program():
    assert not is_same_program(BASE, report(call(128)))
    assert not is_same_program(BASE, report(call(128), call(4096), arch=ARCHES["sm_90a"]))


def test_a_comparison_pairs_launches_by_length_and_place():
    before = report(call(128), call(4096), call(32768))
    after = report(
        call(128),
        *(call(n, attend(n, kernel="main", machine=code(sass_hash="c" * 64, registers=96)), merge())
          for n in (4096, 32768)),
    )  # fmt: skip
    change = compare_reports(before, after, "f" * 40)
    assert not change.is_same_program
    assert [(c.after.launch.kernel, c.lengths, c.is_same_code) for c in change.changes] == [
        ("attend", (128,), True),
        ("merge", (128, 4096, 32768), True),
        ("main", (4096, 32768), False),
    ]


def test_a_launch_that_is_new_or_gone_has_one_side():
    change = compare_reports(report(call(128)), report(call(128, attend(128))), "f" * 40)
    assert [(c.before is None, c.after is None) for c in change.changes] == [(False, False), (False, True)]
    change = compare_reports(report(call(128, attend(128))), report(call(128)), "f" * 40)
    assert [(c.before is None, c.after is None) for c in change.changes] == [(False, False), (True, False)]
