"""What a facts worker answers is the kernel's word: every field has a type and a bound, or it is no answer."""

import copy
import json

import pytest

from mjolnir.targets.static_answer import BadAnswer, read_capture, read_traffic, unsafe_option

ASKED = [("bf16", 128), ("bf16", 4096), ("fp8_e4m3", 128)]
FAILURE = {"kind": "raised", "detail": "ValueError: no", "log": ""}
LAUNCH = {
    "kernel": "attend",
    "grid": [4, 10, 1],
    "warps": 4,
    "stages": 3,
    "ctas_per_cluster": 1,
    "shared_bytes": 75_000,
    "tmem_columns": 0,
    "is_cooperative": False,
    "uses_pdl": False,
    "arguments": [{"name": "q", "kind": "tensor", "text": "q+0"}],
    "unit": "u",
}
UNIT = {"ptx": "//", "tool": "ptxas-blackwell", "options": ["-v", "--gpu-name=sm_110a"], "loop_dots": 2}
COUNTED = {
    "kernel": "attend",
    "grid": [4, 10, 1],
    "kv_bytes": 100,
    "stored_bytes": 0,
    "sampled": 11,
    "is_uniform": True,
    "bytes_per_pass": 32768.0,
    "dots_per_pass": 2,
}


def capture(**changes):
    runs = [{"q_dtype": q, "length": n, "launches": [LAUNCH], "failure": None} for q, n in ASKED]
    return {"triton": "3.9.0", "torch": "2.13.0", "runs": runs, "units": {"u": UNIT}, "failure": None, **changes}


def traffic():
    runs = [{"q_dtype": q, "length": n, "launches": [COUNTED], "failure": None} for q, n in ASKED]
    return {**capture(), "runs": runs, "units": {}}


def read(value, reader=read_capture):
    return reader(json.dumps(value).encode(), ASKED)


def test_an_honest_answer_is_read():
    assert [(r.q_dtype, r.length) for r in read(capture()).runs] == ASKED
    assert read(traffic(), read_traffic).runs[0].launches[0].kv_bytes == 100


def test_a_failure_ends_its_dtype_and_no_other():
    value = capture()
    value["runs"][0] = {"q_dtype": "bf16", "length": 128, "launches": [], "failure": FAILURE}
    del value["runs"][1]
    assert len(read(value).runs) == 2


def test_a_kernel_that_does_not_load_has_no_runs():
    assert read(capture(runs=[], failure=FAILURE)).failure.detail == "ValueError: no"
    with pytest.raises(BadAnswer):
        read(capture(failure=FAILURE))


def put(value, path, new):
    value = copy.deepcopy(value)
    *above, last = path
    at = value
    for key in above:
        at = at[key]
    at[last] = new
    return value


FIRST = ("runs", 0, "launches", 0)


@pytest.mark.parametrize(
    ("path", "new"),
    [
        ((*FIRST, "warps"), 0),
        ((*FIRST, "warps"), "4"),
        ((*FIRST, "warps"), True),
        ((*FIRST, "grid"), [4, 10]),
        ((*FIRST, "grid"), [4, 2**40, 1]),
        ((*FIRST, "shared_bytes"), -1),
        ((*FIRST, "kernel"), "a b\x1b[31m"),
        ((*FIRST, "kernel"), "x" * 500),
        ((*FIRST, "unit"), "another"),
        ((*FIRST, "more"), 1),
        ((*FIRST, "arguments"), [{"name": "q", "kind": "gift", "text": ""}]),
        ((*FIRST, "arguments"), [{"name": "q", "kind": "int", "text": "9" * 9000}]),
        (("runs", 0, "launches"), [LAUNCH] * 65),
        (("runs", 0, "launches"), []),
        (("runs", 0, "length"), 129),
        (("runs", 0, "q_dtype"), "int4"),
        (("runs",), []),
        (("units", "u", "tool"), "/bin/sh"),
        (("units", "u", "tool"), "ptxas; rm"),
        (("units", "u", "ptx"), ""),
        (("units", "u", "options"), ["-v"] * 40),
        (("failure",), {"kind": "raised", "detail": "x" * 9000, "log": ""}),
        (("failure",), {"kind": "keep", "detail": "", "log": ""}),
    ],
)
def test_a_field_out_of_its_bounds_is_no_answer(path, new):
    with pytest.raises(BadAnswer):
        read(put(capture(), path, new))


@pytest.mark.parametrize(
    ("key", "new"),
    [("kv_bytes", -1), ("kv_bytes", 2**63), ("kv_bytes", 1.5), ("bytes_per_pass", "NaN"), ("is_uniform", 1)],
)
def test_counts_have_bounds(key, new):
    with pytest.raises(BadAnswer):
        read(put(traffic(), (*FIRST, key), new), read_traffic)


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"\xff\xfe", b"NaN", b"[" * 5000, b'{"triton": "3.9.0"}'])
def test_what_is_no_json_of_ours_is_no_answer(data):
    with pytest.raises(BadAnswer):
        read_capture(data, ASKED)


def test_more_than_was_asked_is_no_answer():
    value = capture()
    value["runs"].append(value["runs"][0])
    with pytest.raises(BadAnswer):
        read(value)


def test_only_harmless_options_reach_the_assembler():
    triton = ["-lineinfo", "-suppress-debug-info", "-v", "--regAllocOptLevel=2", "--fmad=false", "--gpu-name=sm_110a"]
    assert unsafe_option(triton) == ""
    for odd in ("-o", "--output-file=/etc/passwd", "-optf", "--dump-all", "/etc/passwd", "--gpu-name=sm_110a;", ""):
        assert unsafe_option([*triton, odd]) == odd or odd == ""
