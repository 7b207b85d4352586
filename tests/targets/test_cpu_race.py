"""A race answers with times of every leg, or with the leg that failed and how; real confined workers, tiny lengths."""

import json
import sys
from pathlib import Path

import pytest

from mjolnir.config import parse_config
from mjolnir.core.model import Crashed, Tampered
from mjolnir.errors import EnvironmentFault
from mjolnir.targets.protocol import Entrant, KernelSource, RaceRequest, load_target

KERNELS = Path(__file__).parents[1] / "bad_kernels"
HONEST = (KERNELS / "honest_plain.py").read_bytes()
LENGTHS = (128, 256)
LATER = b"""

_calls = []
_right = decode


def decode(q, kv_cache, page_table, seq_lens, **keywords):
    _calls.append(0)
    if len(_calls) > 20:
        WHAT
    return _right(q, kv_cache, page_table, seq_lens, **keywords)
"""
RAISES = b'raise ValueError("tired")'
ANSWERS_ZERO = b'keywords["out"][...] = 0; return None'
WRITES_NOTHING = b"return None"
MUTATES = b"kv_cache[0, 1, 0, 0, 0] = 3"
LEAVES = b"import dataclasses; dataclasses.sys.modules['os']._exit(0)"


def later(what):
    """An honest kernel that does `what` from its 21st call on: in the middle of a race."""
    return HONEST + LATER.replace(b"WHAT", what)


def entrant(role, blob=HONEST):
    return Entrant(role=role, kernel=None if blob is None else KernelSource(blob=blob, name="kernel.py", origin="test"))


def race(*entrants, worker_sets=1, lengths=LENGTHS, time_limit_s=60.0, steps=None):
    request = RaceRequest(
        seed=7, lengths=lengths, worker_sets=worker_sets, iters=2, gate=False, time_limit_s=time_limit_s
    )
    target = load_target("cpu", parse_config("[targets.cpu]\nlengths = [128, 256]\nmemory_limit_gib = 1.0\n"))
    return target.race(entrants, request, (lambda p: None) if steps is None else steps.append)


@pytest.fixture(scope="module")
def of_two():
    steps = []
    return race(entrant("champion"), entrant("candidate"), steps=steps), steps


def test_one_text_against_itself_is_timed_in_two_workers_at_every_length(of_two):
    report, _ = of_two
    assert report.failure is None
    assert {role: list(times) for role, times in report.times_us.items()} == {
        "champion": list(LENGTHS),
        "candidate": list(LENGTHS),
    }
    assert all(us > 0 for times in report.times_us.values() for us in times.values())
    assert report.seconds > 0


def test_the_document_is_plain_json_with_the_raw_blocks_and_the_times(of_two):
    report, _ = of_two
    document = json.loads(json.dumps(report.document))
    assert document.keys() == {"params", "series", "cases", "summary"}
    for series in document["series"]:
        for point in series["points"]:
            assert point["total_us"] == pytest.approx(report.times_us[series["role"]][point["L"]])
            assert [b["calls"] for b in point["blocks"][0]] == [2, 2, 2, 2]
    assert document["summary"]["times_us"]["candidate"]["256"] == report.times_us["candidate"][256]
    assert "seed" not in json.dumps(document)


def test_the_first_entrants_time_is_the_geomean_of_its_blocks(of_two):
    report, _ = of_two
    point = report.document["series"][0]["points"][0]
    product = 1.0
    for block in point["blocks"][0]:
        product *= block["mean_us"]
    assert report.times_us["champion"][128] == pytest.approx(product**0.25)


def test_a_race_tells_its_steps(of_two):
    _, steps = of_two
    assert {s.stage for s in steps} == {"race"}
    assert steps[0].detail == "starting workers"
    assert steps[-1].done == steps[-1].total == len(LENGTHS)


def test_entrants_take_their_turns_in_the_order_given():
    report = race(entrant("candidate"), entrant("champion"))
    assert [s["role"] for s in report.document["series"]] == ["candidate", "champion"]
    assert report.document["params"]["entrants"] == ["candidate", "champion"]


def test_three_legs_with_the_reference_among_them():
    report = race(entrant("reference", None), entrant("baseline"), entrant("champion"), lengths=(128,))
    assert report.failure is None
    assert list(report.times_us) == ["reference", "baseline", "champion"]
    labels = {s["role"]: s["label"] for s in report.document["series"]}
    assert labels == {"reference": "numpy/BLAS", "baseline": "baseline", "champion": "champion"}


def test_every_set_of_workers_sees_every_length():
    report = race(entrant("champion"), entrant("candidate"), worker_sets=2)
    assert report.failure is None
    blocks = [p["blocks"] for s in report.document["series"] for p in s["points"]]
    assert [[len(of_set) for of_set in of_point] for of_point in blocks] == [[4, 4]] * 4


@pytest.mark.parametrize("role", ["candidate", "champion"])
def test_a_kernel_that_raises_only_while_it_is_raced_is_the_one_that_failed(role):
    report = race(*(entrant(r, later(RAISES) if r == role else HONEST) for r in ("champion", "candidate")))
    assert isinstance(report.failure, Crashed)
    assert report.failure.stage == "confirm"
    assert "tired" in report.failure.detail
    assert report.failed_role == role
    assert report.times_us == {}
    assert report.document["summary"]["times_us"] == {"champion": {}, "candidate": {}}


@pytest.mark.parametrize(
    ("what", "code"), [(ANSWERS_ZERO, "E_PROFILED"), (MUTATES, "E_MUTATES"), (WRITES_NOTHING, "E_UNWRITTEN")]
)
@pytest.mark.parametrize("role", ["candidate", "champion"])
def test_a_kernel_that_is_false_only_while_it_is_raced_is_found_out(what, code, role):
    report = race(*(entrant(r, later(what) if r == role else HONEST) for r in ("candidate", "champion")))
    assert isinstance(report.failure, Tampered)
    assert report.failure.code == code
    assert report.failed_role == role


def test_a_wrong_first_call_counts_too():
    report = race(entrant("champion"), entrant("candidate", (KERNELS / "last_token_lost.py").read_bytes()))
    assert isinstance(report.failure, Tampered)
    assert report.failed_role == "candidate"


@pytest.mark.parametrize(
    "blob", [b"import numpy\n", b"def decode(:\n", b"raise RuntimeError('no')\n", bytes(range(256))]
)
def test_a_kernel_that_does_not_load_failed_in_the_confirmation(blob):
    report = race(entrant("champion"), entrant("candidate", blob))
    assert isinstance(report.failure, Crashed)
    assert report.failure.stage == "confirm"
    assert report.failed_role == "candidate"


def test_a_worker_that_leaves_in_the_middle_is_a_crash():
    report = race(entrant("champion"), entrant("candidate", later(LEAVES)))
    assert isinstance(report.failure, Crashed)
    assert report.failed_role == "candidate"


def test_garbage_on_the_workers_pipe_is_never_a_time():
    report = race(entrant("champion"), entrant("candidate", (KERNELS / "tamper-answers-out-of-turn.py").read_bytes()))
    assert report.failure is not None
    assert report.failed_role == "candidate"
    assert report.times_us == {}


@pytest.mark.parametrize("name", ["fault-never-returns.py", "fault-never-returns-on-import.py"])
def test_a_kernel_that_never_returns_meets_the_time_limit(name):
    report = race(entrant("candidate", (KERNELS / name).read_bytes()), entrant("champion"), time_limit_s=5.0)
    assert isinstance(report.failure, Crashed)
    assert "time limit" in report.failure.detail
    assert report.failed_role == "candidate"


def test_a_worker_that_cannot_start_is_the_machines_fault(monkeypatch, tmp_path):
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\necho no interpreter here >&2\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(broken))
    with pytest.raises(EnvironmentFault, match="no interpreter here"):
        race(entrant("champion"), entrant("candidate"))


@pytest.mark.parametrize("roles", [("champion",), ("champion", "champion")])
def test_one_leg_or_two_of_one_role_make_no_race(roles):
    with pytest.raises(ValueError, match="each with a role of its own"):
        race(*(entrant(role) for role in roles))
