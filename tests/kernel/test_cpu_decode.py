"""The starting kernel and the demo's faster one against a float64 attention written here, in plain loops over rows."""

import importlib
from dataclasses import dataclass

import ml_dtypes
import numpy as np
import pytest

FP8 = ml_dtypes.float8_e4m3fn
BF16 = ml_dtypes.bfloat16
KERNELS = ("mjolnir_kernel.cpu_decode", "mjolnir_kernel.examples.cpu_decode_tiled")


@pytest.fixture(params=KERNELS, ids=["starting", "tiled"])
def kernel(request):
    return importlib.import_module(request.param)


@dataclass(frozen=True, kw_only=True)
class Inputs:
    q: np.ndarray
    kv_cache: np.ndarray
    page_table: np.ndarray
    seq_lens: np.ndarray

    def decode_with(self, kernel, **scales):
        """The kernel's answer in float64. `out` is full of NaN before the call."""
        out = np.full(self.q.shape, np.nan, BF16)
        kernel.decode(self.q, self.kv_cache, self.page_table, self.seq_lens, out=out, **scales)
        return out.astype(np.float64)


def make_inputs(lengths, *, q_dtype=BF16, kv_dtype=FP8, heads=(24, 4), head_dim=256, page_size=128, q_size=1.0, seed=7):
    """Random pages in random order; spare pages and page tails hold NaN, unused table entries -1."""
    rng = np.random.default_rng(seed)
    pages = [-(-n // page_size) for n in lengths]
    num_pages = sum(pages) + 2
    values = rng.standard_normal((num_pages, 2, heads[1], page_size, head_dim), dtype=np.float32)
    values[:, 1] += 0.5
    kv_cache = values.astype(kv_dtype)
    table = np.full((len(lengths), max(pages) + 3), -1, np.int32)
    order = list(rng.permutation(num_pages))
    for row, (length, count) in enumerate(zip(lengths, pages, strict=True)):
        table[row, :count] = [order.pop() for _ in range(count)]
        kv_cache[table[row, count - 1], :, :, length - (count - 1) * page_size :] = np.nan
    kv_cache[order] = np.nan
    q = (q_size * rng.standard_normal((len(lengths), heads[0], head_dim), dtype=np.float32)).astype(q_dtype)
    return Inputs(q=q, kv_cache=kv_cache, page_table=table, seq_lens=np.array(lengths, np.int32))


def exact(inputs, *, sm_scale, q_scale=1.0, k_scale=1.0, v_scale=1.0):
    batch, num_q_heads, head_dim = inputs.q.shape
    group = num_q_heads // inputs.kv_cache.shape[2]
    answer = np.empty((batch, num_q_heads, head_dim))
    for b in range(batch):
        n = int(inputs.seq_lens[b])
        pages = inputs.page_table[b, : -(-n // inputs.kv_cache.shape[3])]
        for h in range(num_q_heads):
            k, v = (
                inputs.kv_cache[pages, part, h // group].astype(np.float64).reshape(-1, head_dim)[:n] for part in (0, 1)
            )
            logits = k @ inputs.q[b, h].astype(np.float64) * (sm_scale * q_scale * k_scale)
            weights = np.exp(logits - logits.max())
            answer[b, h] = weights @ v / weights.sum() * v_scale
    return answer


def worst_row_error(got, wanted):
    """Row-relative L2 error, the worst row."""
    return float((np.linalg.norm(got - wanted, axis=-1) / np.linalg.norm(wanted, axis=-1)).max())


@pytest.mark.parametrize("kv_dtype", [FP8, BF16], ids=["fp8_kv", "bf16_kv"])
@pytest.mark.parametrize("q_dtype", [FP8, BF16], ids=["fp8_q", "bf16_q"])
def test_a_ragged_batch_is_right_in_every_supported_type(kernel, q_dtype, kv_dtype):
    inputs = make_inputs((1, 129, 300), q_dtype=q_dtype, kv_dtype=kv_dtype)
    scales = {"sm_scale": 1 / 16, "q_scale": 0.37, "k_scale": 1.9, "v_scale": 1.9}
    assert worst_row_error(inputs.decode_with(kernel, **scales), exact(inputs, **scales)) <= 0.3e-2


@pytest.mark.parametrize("length", [2, 17, 31, 32, 33, 127, 128, 1025])
def test_page_tails_spare_pages_and_unused_table_entries_are_never_read(kernel, length):
    inputs = make_inputs((length,))
    assert worst_row_error(inputs.decode_with(kernel, sm_scale=1 / 16), exact(inputs, sm_scale=1 / 16)) <= 0.3e-2


@pytest.mark.parametrize(
    "shape",
    [
        {"heads": (8, 8), "head_dim": 64, "page_size": 16},
        {"heads": (5, 1), "head_dim": 8, "page_size": 1},
        {"heads": (6, 2), "head_dim": 80, "page_size": 48},
    ],
    ids=["no_groups", "pages_of_one_token", "odd_sizes"],
)
def test_other_heads_and_page_sizes_are_right(kernel, shape):
    inputs = make_inputs((50, 3), **shape)
    assert worst_row_error(inputs.decode_with(kernel, sm_scale=0.2), exact(inputs, sm_scale=0.2)) <= 0.3e-2


def test_large_logits_do_not_overflow(kernel):
    inputs = make_inputs((513,), q_size=40.0)
    assert worst_row_error(inputs.decode_with(kernel, sm_scale=1 / 16), exact(inputs, sm_scale=1 / 16)) <= 0.3e-2


def test_every_fp8_number_is_decoded_exactly(kernel):
    """One token has weight 1, so that the answer is its V: all 254 numbers, subnormals and both zeros included."""
    numbers = np.array([b for b in range(256) if b & 127 != 127], np.uint8).view(FP8)
    kv_cache = np.zeros((1, 2, 1, 4, 254), FP8)
    kv_cache[0, 1, 0, 0] = numbers
    inputs = Inputs(
        q=np.zeros((1, 2, 254), BF16),
        kv_cache=kv_cache,
        page_table=np.zeros((1, 1), np.int32),
        seq_lens=np.ones(1, np.int32),
    )
    assert np.array_equal(inputs.decode_with(kernel, sm_scale=1.0)[0, 0], numbers.astype(np.float64))


def test_a_second_call_in_the_same_buffers_sees_their_new_contents(kernel):
    inputs = make_inputs((300,))
    inputs.decode_with(kernel, sm_scale=1 / 16)
    inputs.kv_cache[inputs.page_table[0, 0], 1] = np.full((), 3.0, FP8)
    assert worst_row_error(inputs.decode_with(kernel, sm_scale=1 / 16), exact(inputs, sm_scale=1 / 16)) <= 0.3e-2


def test_inputs_that_may_only_be_read_are_accepted_and_left_alone(kernel):
    inputs = make_inputs((40,))
    arrays = (inputs.q, inputs.kv_cache, inputs.page_table, inputs.seq_lens)
    before = [array.tobytes() for array in arrays]
    for array in arrays:
        array.flags.writeable = False
    inputs.decode_with(kernel, sm_scale=1 / 16)
    assert [array.tobytes() for array in arrays] == before


@pytest.mark.parametrize("name", ["q", "kv_cache"])
def test_an_unknown_element_type_is_named_in_a_not_implemented_error(kernel, name):
    inputs = make_inputs((8,))
    arrays = {"q": inputs.q, "kv_cache": inputs.kv_cache}
    arrays[name] = arrays[name].astype(np.float16)
    with pytest.raises(NotImplementedError, match=f"{name} of dtype float16"):
        kernel.decode(
            arrays["q"],
            arrays["kv_cache"],
            inputs.page_table,
            inputs.seq_lens,
            sm_scale=1.0,
            out=np.empty(inputs.q.shape, BF16),
        )
