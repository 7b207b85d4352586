"""The timing part of scripts/gpu_check.py without a GPU: legs, their turns and figures, with a made-up clock."""

import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch", reason="the check's arrays are torch tensors (extra: gpu)")
sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))

import gpu_check_inputs as drawn  # noqa: E402
import gpu_check_parts as parts  # noqa: E402
import gpu_check_timing as timing  # noqa: E402
from gpu_check_document import Budget, Document, Watchdog  # noqa: E402

CPU = torch.device("cpu")


class Ticks:
    """A clock for which every call takes 10 us."""

    def time_us(self, leg):
        leg()
        return 10.0


def attend(q, k, v, logit_scale):
    """(heads, head_dim) and (KV heads, tokens, head_dim) -> (heads, head_dim), in float32."""
    logits = q.float().view(k.shape[0], -1, q.shape[-1]) @ k.float().transpose(1, 2) * logit_scale
    return (logits.softmax(-1) @ v.float()).view(q.shape)


def tokens_of(kv_cache, ids, length):
    """K and V of a row, each (KV heads, tokens, head_dim)."""
    pages = drawn.bits_of(kv_cache)[ids.long()].view(kv_cache.dtype)
    return tuple(pages[:, half].float().transpose(0, 1).flatten(1, 2)[:, :length] for half in (0, 1))


def decode(q, kv_cache, page_table, seq_lens, *, sm_scale, q_scale, k_scale, v_scale, out):
    length = int(seq_lens[0])
    k, v = tokens_of(kv_cache, page_table[0, : -(-length // 128)], length)
    out[0] = attend(q[0], k, v, sm_scale * q_scale * k_scale) * v_scale


class Wrapper:
    """FlashInfer's paged decode as far as the check calls it."""

    def __init__(self, workspace, layout, *, use_tensor_cores):
        assert (workspace.dtype, layout, use_tensor_cores) == (torch.uint8, "HND", True)

    def plan(self, indptr, indices, last_page_len, num_qo_heads, num_kv_heads, head_dim, page_size, **more):
        assert (num_qo_heads, num_kv_heads, head_dim, page_size) == (24, 4, 256, 128)
        assert (more["q_data_type"], more["kv_data_type"]) == (torch.bfloat16, torch.float8_e4m3fn)
        assert indptr.dtype == indices.dtype == last_page_len.dtype == torch.int32
        self.ids, self.scale = indices[indptr[0] : indptr[1]], more["sm_scale"]
        self.length = (len(self.ids) - 1) * page_size + int(last_page_len[0])

    def run(self, q, kv_cache, *, out):
        out[0] = attend(q[0], *tokens_of(kv_cache, self.ids, self.length), self.scale)


@pytest.fixture
def row(monkeypatch):
    """What the timing of one L answers, with a FlashInfer of the test."""

    def call(kernel=decode, length=300, wrapper=Wrapper):
        module = SimpleNamespace(BatchDecodeWithPagedKVCacheWrapper=wrapper, __version__="0.7.4")
        monkeypatch.setitem(sys.modules, "flashinfer", module)
        monkeypatch.setattr(timing, "ROUNDS", 2)
        return timing.time_length(length, kernel, 3, CPU, Ticks(), 4000.0, flashinfer=True)

    return call


def test_every_leg_answers_the_same_question_and_counts_its_own_bytes(row):
    found = row()
    assert found["left_out"] == {}
    legs = found["legs"]
    assert list(legs) == ["kernel q bf16", "kernel q fp8_e4m3", "torch SDPA q bf16", "FlashInfer q bf16"]
    assert all(leg["correct"] and leg["error"] < 1e-2 and leg["calls"] == 2 for leg in legs.values())
    kv_bytes = 2 * 4 * 256 * 300
    assert [leg["bytes"] / kv_bytes for leg in legs.values()] == [1, 1, 2, 1]
    assert "gathered and widened to bf16 beforehand (not timed)" in legs["torch SDPA q bf16"]["what"]
    assert "0.7.4" in legs["FlashInfer q bf16"]["what"]


def test_a_kernel_that_is_wrong_under_the_clock_is_wrong(row):
    def only_at_first(*arrays, out, count=[], **more):  # noqa: B006
        count.append(1)
        if len(count) <= 2 * timing.WARM_UP_CALLS:
            decode(*arrays, out=out, **more)

    legs = row(only_at_first)["legs"]
    assert not legs["kernel q bf16"]["correct"]
    assert "not written" in legs["kernel q bf16"]["detail"]
    assert legs["torch SDPA q bf16"]["correct"]


def test_a_library_that_refuses_is_left_out_with_its_words(row):
    def refuses(*_, **__):
        raise ValueError("no kernel for this device")

    found = row(wrapper=refuses)
    assert found["left_out"] == {"FlashInfer": "ValueError: no kernel for this device"}
    assert len(found["legs"]) == 3


def test_legs_take_turns_and_each_round_begins_with_another():
    order = []

    class Turns:
        def time_us(self, leg):
            leg()
            return float(len(order))

    legs = {name: lambda name=name: order.append(name) for name in "abc"}
    times = timing.time_legs(legs, Turns(), rounds=4)
    assert "".join(order) == "abc" + "bca" + "cab" + "abc"
    assert times["a"] == [1.0, 6.0, 8.0, 10.0]


def test_a_legs_summary_gives_median_spread_bandwidth_and_its_part_of_a_copy():
    found = timing.summarise([10.0, 12.0, 11.0, 30.0, 10.5], num_bytes=22_000_000, copy_gbps=4000.0)
    assert found["median_us"] == 11.0
    assert found["range_us"] == [10.0, 30.0]
    assert found["quartiles_us"] == [10.5, 12.0]
    assert (found["gbps"], found["percent_of_copy"], found["calls"]) == (2000.0, 50.0, 5)
    assert "50.0 % of a copy" in parts.leg_line("kernel q bf16", found | {"correct": True})


@pytest.fixture
def check(monkeypatch, tmp_path):
    """A check of one minute whose every L takes 20 s of a made-up clock; `legs` are what each L answers."""

    def make(legs):
        now = SimpleNamespace(seconds=0.0)

        def time_length(length, *_, **__):
            now.seconds += 20
            if legs is None:
                raise RuntimeError("out of resources")
            return {"L": length, "legs": legs, "left_out": {}}

        monkeypatch.setattr(parts, "time_length", time_length)
        monkeypatch.setattr(parts, "copy_bandwidth_gbps", lambda _: 4000.0)
        monkeypatch.setattr(parts, "EventClock", lambda _: SimpleNamespace(flush_bytes=1))
        budget = Budget(1, lambda: now.seconds)
        document = Document(tmp_path / "check.json", budget)
        return parts.Check(
            options=SimpleNamespace(seed=3),
            budget=budget,
            document=document,
            watchdog=Watchdog(document, budget),
            device=CPU,
            decode=decode,
            planned=(),
            lengths=(128, 4096, 8192, 16384, 32768),
        )

    return make


LEG = timing.summarise([10.0], 1, 4000.0) | {"correct": True, "detail": ""}


def test_lengths_for_which_no_time_is_left_are_named(check):
    one = check({"kernel q bf16": LEG})
    one.time(has_flashinfer=False)
    one.document.write()
    document = json.loads(one.document.path.read_text())
    assert [row["L"] for row in document["timing"]] == [128, 4096, 8192]
    assert one.wrong == 0
    assert document["skipped"] == [{"part": "timing: L 16384, 32768", "why": "no time left in the budget"}]


def test_only_the_kernels_own_wrong_answer_under_the_clock_counts(check):
    wrong = LEG | {"correct": False, "detail": "off"}
    one = check({"kernel q bf16": LEG, "kernel q fp8_e4m3": wrong, "torch SDPA q bf16": wrong})
    one.time(has_flashinfer=False)
    assert one.wrong == 3


def test_a_kernel_that_raises_under_the_clock_is_wrong_at_that_length_and_the_next_is_timed(check):
    one = check(None)
    one.time(has_flashinfer=False)
    rows = json.loads(one.document.path.read_text())["timing"]
    assert (one.wrong, [row["error"] for row in rows]) == (3, ["RuntimeError: out of resources"] * 3)
