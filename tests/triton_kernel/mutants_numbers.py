"""Broken kernels that compute wrongly: scales, softmax, rounding, merge, LSE."""

from __future__ import annotations

from mutant import BF16, FP8, FRESH_MEMORY, LSE, SINK, mutant

SCALE = "sm_scale * q_scale * k_scale * LOG2_E,"
RESULT = "result = tl.sum(parts * weight[:, None], 0) * (v_scale / total)"
P_KV_MAJOR = "p = tl.exp2(s * scale - tl.expand_dims(new_largest - LOG2_448, TOKENS))"
P_Q_MAJOR = "p = tl.exp2(s * scale - tl.expand_dims(new_largest, TOKENS))"
DECAYED = "acc *= tl.expand_dims(decay, TOKENS)"
FOLDED = "return new_largest, total * decay + tl.sum(p, TOKENS), acc"
LSE_448 = "        lse -= LOG2_448\n"
WEIGHT = "weight = tl.where(is_split, tl.exp2(lse_2 - largest), 0.0)"
SPLITS = "splits = tl.minimum(tl.cdiv(tl.load(seq_lens + b), PAGE), num_splits)"
LSE_OUT = "(largest + tl.log2(total)) * LN_2"

SCALES = (
    mutant("zeros", "nothing is computed", (RESULT, "result = tl.zeros((HEAD_DIM,), tl.float32)")),
    mutant("logits 2 % off", "the logits are 2 % too large", (SCALE, SCALE.replace("LOG2_E", "LOG2_E * 1.02"))),
    mutant("out 2 % off", "the answer is 2 % too large", (RESULT, RESULT.replace("v_scale", "1.02 * v_scale"))),
    mutant("q_scale ignored", "fp8 q has its scale for nothing", (SCALE, SCALE.replace("q_scale * ", ""))),
    mutant("k_scale ignored", "fp8 K has its scale for nothing", (SCALE, SCALE.replace("k_scale * ", ""))),
    mutant("v_scale ignored", "fp8 V has its scale for nothing", (RESULT, RESULT.replace("v_scale", "1.0"))),
    mutant("v_scale squared", "V's scale is applied twice", (RESULT, RESULT.replace("v_scale", "v_scale * v_scale"))),
    mutant(
        "sm_scale by habit",
        "sm_scale is taken for 1 / sqrt(head_dim)",
        (SCALE, SCALE.replace("sm_scale", "head_dim**-0.5")),
    ),
    mutant("powers of 2 of natural logits", "log2(e) is left out", (SCALE, SCALE.replace(" * LOG2_E", ""))),
)

SOFTMAX = (
    mutant(
        "exp for exp2",
        "the logits are in powers of 2 already",
        (P_KV_MAJOR, P_KV_MAJOR.replace("exp2", "exp")),
        (P_Q_MAJOR, P_Q_MAJOR.replace("exp2", "exp")),
    ),
    mutant(
        "decay twice", "what came before is scaled down twice", (DECAYED, DECAYED.replace("decay", "decay * decay"))
    ),
    mutant("decay left out", "what came before keeps the weight of a smaller maximum", (DECAYED, "acc += 0.0")),
    mutant(
        "sum not decayed", "the sum keeps what the products lose", (FOLDED, FOLDED.replace("total * decay", "total"))
    ),
    mutant("maximum not carried", "each tile begins anew", (FOLDED, FOLDED.replace("new_largest", "largest"))),
    mutant(
        "not divided",
        "a split's answer keeps its sum",
        ("acc / total[None, :]", "acc"),
        ("acc / total[:, None]", "acc"),
    ),
)

ROUNDING = (
    mutant(
        "unscaled fp8 P",
        "beside a heavy token all others fall below e4m3's smallest number",
        (P_KV_MAJOR, P_KV_MAJOR.replace(" - LOG2_448", "")),
        (LSE_448, ""),
        q=(FP8,),
        only_by=SINK,
    ),
    mutant(
        "fp8 P beyond e4m3",
        "1024 * P saturates at 448",
        ("tl.constexpr(8.807354922057604)", "tl.constexpr(10.0)"),
        q=(FP8,),
    ),
    mutant(
        "P in fp8 for bf16 q",
        "P has 3 bits where q's type promises 8",
        ("acc = tl.dot(p.to(q.dtype), ", "acc = tl.dot(p.to(tl.float8e4nv).to(q.dtype), "),
        q=(BF16,),
    ),
    mutant(
        "bf16 q in fp8",
        "q has 3 bits where its type promises 8",
        ("q_tile = q_tile.to(tl.bfloat16)", "q_tile = q_tile.to(tl.float8e4nv).to(tl.bfloat16)"),
        q=(BF16,),
    ),
)

MERGE = (
    mutant("merge in base e", "the splits' sums are in powers of 2", (WEIGHT, WEIGHT.replace("exp2", "exp"))),
    mutant(
        "plain mean of splits",
        "a split of one token counts as much as a full one",
        (WEIGHT, "weight = tl.where(is_split, 1.0, 0.0)"),
    ),
    mutant(
        "empty split weighs",
        "a split that does not exist has a weight of one",
        (WEIGHT, WEIGHT.replace("0.0)", "1.0)")),
    ),
    mutant(
        "one split too few",
        "the last split is not merged",
        (SPLITS, SPLITS.replace("tl.minimum(", "tl.maximum(1, tl.minimum(") + " - 1)"),
    ),
    mutant(
        "room for half the splits",
        "the merge tile is too small",
        ("triton.next_power_of_2(num_splits)", "max(1, triton.next_power_of_2(num_splits) // 2)"),
    ),
    mutant(
        "empty splits run",
        "a split without pages divides zero by zero",
        ("splits = tl.minimum(pages, num_splits)", "splits = num_splits"),
        (SPLITS, "splits = num_splits"),
    ),
    mutant(
        "empty split's memory",
        "zero times whatever the memory holds",
        (
            "parts = tl.load(parts_at, mask=is_split[:, None], other=0.0)",
            "parts = tl.load(parts_at, mask=(split < num_splits)[:, None], other=0.0)",
        ),
        only_by=FRESH_MEMORY,
    ),
    mutant(
        "split's LSE in base e",
        "maximum and sum are in different bases",
        ("lse = largest + tl.log2(total)", "lse = largest + tl.log(total)"),
    ),
    mutant("LSE in base 2", "lse is to be a natural logarithm", (LSE_OUT, "largest + tl.log2(total)"), only_by=LSE),
    mutant("LSE of the largest split", "the other splits are missing in lse", (LSE_OUT, "largest * LN_2"), only_by=LSE),
    mutant("LSE times 448", "the factor of P stays in lse", (LSE_448, ""), q=(FP8,), only_by=LSE),
)

NUMBERS = (*SCALES, *SOFTMAX, *ROUNDING, *MERGE)
