"""CTAs per SM: what ends them, on devices whose figures are published."""

import pytest

from mjolnir.core.gpu_arch import ARCHES, occupancy

THOR, H200 = ARCHES["sm_110a"], ARCHES["sm_90a"]


def of(arch=THOR, *, registers=32, warps=4, shared_bytes=0, tmem_columns=0):
    found = occupancy(arch, registers=registers, warps=warps, shared_bytes=shared_bytes, tmem_columns=tmem_columns)
    return found.ctas_per_sm, found.limiter


def test_the_devices_are_the_ones_that_are_meant():
    assert (THOR.device, THOR.sm_count, THOR.dram_gbps, THOR.capability) == ("Jetson AGX Thor", 20, 273.0, 110)
    assert (H200.device, H200.sm_count) == ("H200", 132)


@pytest.mark.parametrize(
    ("registers", "warps", "ctas"),
    # 255 * 32 = 8,160 is given as 8,192, and 65,536 / 8,192 = 8 warps. 187 are given as 6,144: 10 warps, of which the
    # four quarters of an SM hold 2 each.
    [(255, 4, 2), (187, 4, 2), (118, 4, 4), (128, 8, 2), (129, 8, 1), (138, 8, 1), (64, 16, 2)],
)
def test_registers_end_it(registers, warps, ctas):
    assert of(registers=registers, warps=warps) == (ctas, "registers")


def test_shared_memory_ends_it_with_the_system_s_kilobyte_for_each_cta():
    assert of(H200, shared_bytes=113 * 1024) == (2, "shared")
    assert of(H200, shared_bytes=113 * 1024 + 1) == (1, "shared")
    assert of(H200, shared_bytes=227 * 1024) == (1, "shared")


def test_threads_and_blocks_end_it():
    assert of(H200, registers=16, warps=16) == (4, "threads")
    assert of(warps=1) == (24, "blocks")


def test_tensor_memory_ends_it_where_there_is_such():
    assert of(tmem_columns=256, registers=64) == (2, "tensor memory")
    assert of(H200, tmem_columns=256, registers=64)[1] != "tensor memory"


def test_more_than_a_device_has_is_no_cta():
    assert of(shared_bytes=300 * 1024)[0] == 0


def test_where_the_driver_contradicts_the_table_both_are_told():
    found = occupancy(THOR, registers=64, warps=4, shared_bytes=200 * 1024, tmem_columns=0)
    assert (found.ctas_per_sm, found.limiter, found.queried_ctas_per_sm) == (1, "shared", 3)


def test_where_shared_memory_decides_nothing_one_number_is_told():
    assert occupancy(THOR, registers=187, warps=4, shared_bytes=0, tmem_columns=0).queried_ctas_per_sm is None
