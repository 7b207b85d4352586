"""Random ledger rows for the keep rule: every clause reached, every threshold met from both sides."""

from __future__ import annotations

import math
import random
from types import MappingProxyType
from typing import Any

SWEEP = (128, 4096, 8192, 16384, 32768, 65536, 131072, 262144)
OTHER_LENGTHS = (1, 17, 1024, 2048, 3072, 524288, 1024 * 1024)

# How far beside a threshold a number is put: within the 1e-9 of the text, outside it, and well outside it.
BESIDE = (-1e-3, -1e-5, -1e-7, -2e-9, -5e-10, -1e-12, 1e-12, 5e-10, 2e-9, 1e-7, 1e-5, 1e-3)
BAD_NUMBERS = (math.nan, math.inf, -math.inf, 0, 0.0, -0.0, -1, -1.1, None, "1.1", "", True, False, [], {}, 10**400)
BAD_KEYS = ("", " ", "K", "4 K", "4KB", "0", "0K", "-128", "+128", "1e3", "4096.0", "٤", "16385K", "17M", "x")
BAD_KEYS_NOT_OF_JSON = (0, -128, 4096.0, True, None, 16 * 1024 * 1024 + 1)
NOT_PASS = (None, "fail", "fail", "PASS", "Pass", "", "passed", "error", True, 1)


def random_case(rng: random.Random) -> tuple[Any, Any, dict[str, Any]]:
    """A row, a best row and the keywords of the call. A third of the rows then gets one or two things wrong."""
    lengths = random_lengths(rng)
    min_gain = rng.choice((0.02, 0.02, 0.02, 0.02, 0.0, 0.005, 0.05, 0.1))
    noise = rng.choice((0.03, 0.03, 0.03, 0.03, 0.0, 0.01, 0.1))
    keywords: dict[str, Any] = {}
    if min_gain != 0.02 or rng.random() < 0.2:
        keywords["min_gain"] = min_gain
    if noise != 0.03 or rng.random() < 0.2:
        keywords["noise"] = noise

    best_per_l = dict.fromkeys(lengths, rng.choice((1.0, 1.1)))
    if rng.random() < 0.5:
        best_per_l = {length: 0.5 + 2 * rng.random() for length in lengths}
    relative = random_relative(rng, lengths, min_gain, noise)
    row_per_l = {length: best_per_l[length] * relative[length] for length in lengths}
    best_reference, row_reference = random_references(rng, lengths)

    best_score = rng.choice((1.0, 1.1, rng.uniform(0.5, 2.5)))
    score = best_score * (1 + min_gain + rng.choice((0.0, 0.05, -0.05, *BESIDE)))
    row = {"score": score, "correctness": "pass", "per_L": row_per_l, "fi_us": row_reference}
    best = {"score": best_score, "correctness": "pass", "per_L": best_per_l, "fi_us": best_reference}
    return spoil(rng, row, best, keywords)


def random_lengths(rng: random.Random) -> list[int]:
    if rng.random() < 0.5:
        return list(SWEEP)
    return rng.sample(SWEEP + OTHER_LENGTHS, rng.choice((1, 1, 2, 2, 3, 3, 4, 5, 6, 8, 10)))


def random_relative(rng: random.Random, lengths: list[int], min_gain: float, noise: float) -> dict[int, float]:
    """This row's speedup over the best's, in one of the shapes that the steps 7 to 10 tell apart."""
    shape = rng.choice(("noise", "uniform", "one wonder", "slower", "slower"))
    count = len(lengths)
    if shape == "noise":
        middle = rng.choice((1.0, 1 + min_gain, 1 + 2 * min_gain, 1.05, 1.3))
        values = [middle * math.exp(rng.gauss(0, 0.02)) for _ in lengths]
    elif shape == "uniform":
        values = [1 + min_gain + rng.choice((0.0, 0.0, 0.03, *BESIDE))] * count
    elif shape == "one wonder":
        values = [1 + min_gain / 2 + rng.choice((-0.01, *BESIDE))] * count
        values[0] = rng.uniform(1.1, 3.0)
    else:
        slow = min(count, rng.choice((1, 1, 2, 2, 2, 3, 4)))
        values = [rng.uniform(1.1, 1.6)] * count
        for place in range(slow):
            values[place] = 1 - noise + rng.choice((0.0, -0.05, *BESIDE))
    rng.shuffle(values)
    return dict(zip(lengths, values, strict=True))


def random_references(rng: random.Random, lengths: list[int]) -> tuple[dict[int, float], dict[int, float]]:
    """Reference times of the best row and of this row, in microseconds; some of them moved by about 15 %."""
    old = dict.fromkeys(lengths, 100.0)
    if rng.random() < 0.5:
        old = {length: 0.5 + 5000 * rng.random() for length in lengths}
    new = {length: value * (0.9 + 0.2 * rng.random()) for length, value in old.items()}
    moved = rng.choice((0, 0, 0, 1, 1, 2, 2, 3, 3, 4, len(lengths)))
    for length in rng.sample(lengths, min(moved, len(lengths))):
        by = rng.choice((0.15, -0.15))
        by += math.copysign(rng.choice((0.0, 0.1, 0.5, *BESIDE)), by) if rng.random() < 0.5 else rng.choice(BESIDE)
        new[length] = old[length] * (1 + by)
    return old, new


def spoil(rng: random.Random, row: dict, best: Any, keywords: dict[str, Any]) -> tuple[Any, Any, dict[str, Any]]:
    if rng.random() < 0.25:
        lose_references(rng, row, best)
    if rng.random() < 0.15:
        ask_for_lengths(rng, row, keywords)
    for _ in range(rng.choice((0, 0, 0, 0, 0, 1, 1, 1, 2))):
        rng.choice(SPOILERS)(rng, row, best)
    for side in (row, best):
        for name in ("per_L", "fi_us"):
            if isinstance(side.get(name), dict):
                side[name] = mixed_keys(rng, side[name])
    if rng.random() < 0.02:
        return row, None, keywords
    if rng.random() < 0.02:
        return MappingProxyType(row), MappingProxyType(best), keywords
    return row, best, keywords


def lose_references(rng: random.Random, row: dict, best: dict) -> None:
    """None at all on one side or on both, or a part of them."""
    how = rng.choice(("part", "part", "none", "none", "both none"))
    sides = [row, best] if how == "both none" else [rng.choice((row, best))]
    for side in sides:
        if how == "part":
            for length in rng.sample(list(side["fi_us"]), rng.randint(1, len(side["fi_us"]))):
                del side["fi_us"][length]
        elif rng.random() < 0.5:
            side["fi_us"] = rng.choice((None, {}))
        else:
            del side["fi_us"]


def ask_for_lengths(rng: random.Random, row: dict, keywords: dict[str, Any]) -> None:
    required = rng.sample(list(row["per_L"]), rng.randint(0, len(row["per_L"])))
    if rng.random() < 0.3:
        required.append(rng.choice(SWEEP + OTHER_LENGTHS))
    if rng.random() < 0.3:
        required = [key_in_form(rng, length, "mixed") for length in required]
    keywords["required"] = rng.choice((tuple, list))(required) if rng.random() < 0.9 else None


def table_of(side: dict, name: str) -> dict:
    """The figures under `name`; {} where an earlier spoiler left none."""
    table = side.get(name)
    return table if isinstance(table, dict) else {}


def fail_correctness(rng: random.Random, row: dict, best: Any) -> None:
    row["correctness"] = rng.choice(NOT_PASS)
    if rng.random() < 0.3:
        del row["correctness"]


def lose_the_score(rng: random.Random, row: dict, best: Any) -> None:
    row["score"] = None
    if rng.random() < 0.2:
        row["correctness"] = rng.choice(NOT_PASS)
    if rng.random() < 0.5:
        del row["score"]


def spoil_the_score(rng: random.Random, row: dict, best: Any) -> None:
    rng.choice((row, row, best))["score"] = rng.choice(BAD_NUMBERS)


def drop_the_lengths_of_best(rng: random.Random, row: dict, best: dict) -> None:
    best["per_L"] = rng.choice((None, {}))
    if rng.random() < 0.5:
        del best["per_L"]
    if rng.random() < 0.2:
        best["score"] = rng.choice(BAD_NUMBERS)


def empty_a_side(rng: random.Random, row: dict, best: dict) -> None:
    rng.choice((row, best)).clear()


def drop_some_lengths(rng: random.Random, row: dict, best: dict) -> None:
    side = rng.choice((row, best))
    table = table_of(side, "per_L")
    for length in rng.sample(list(table), rng.randint(0, len(table))):
        del table[length]
        table_of(side, "fi_us").pop(length, None)


def spoil_a_number(rng: random.Random, row: dict, best: dict) -> None:
    table = table_of(rng.choice((row, best)), rng.choice(("per_L", "fi_us")))
    if table:
        table[rng.choice(list(table))] = rng.choice(BAD_NUMBERS)


def spoil_a_key(rng: random.Random, row: dict, best: dict) -> None:
    table = table_of(rng.choice((row, best)), rng.choice(("per_L", "fi_us")))
    if table:
        table[rng.choice(BAD_KEYS + BAD_KEYS_NOT_OF_JSON)] = rng.choice((1.1, 1.1, math.nan))


def add_a_reference(rng: random.Random, row: dict, best: dict) -> None:
    """A reference time at an L that has no speedup; it may even have jumped."""
    for side in (row, best):
        table_of(side, "fi_us").setdefault(2 * 1024 * 1024, rng.choice((50.0, 100.0)))


def name_a_length_twice(rng: random.Random, row: dict, best: dict) -> None:
    table = table_of(rng.choice((row, best)), rng.choice(("per_L", "fi_us")))
    if table:
        length = rng.choice(list(table))
        table[f" {length}"] = rng.choice((table[length], 1.25))


def spoil_a_shape(rng: random.Random, row: dict, best: dict) -> None:
    rng.choice((row, best))[rng.choice(("per_L", "fi_us"))] = rng.choice(([], [1.1], "128", 1.1, 0, False, True))


def leave_the_range_of_a_float(rng: random.Random, row: dict, best: dict) -> None:
    for side, value in zip((row, best), rng.choice(((1e308, 1e-308), (5e-324, 1e308))), strict=True):
        table = table_of(side, "per_L")
        if table:
            table[max(table, key=str)] = value


SPOILERS = (
    fail_correctness,
    lose_the_score,
    spoil_the_score,
    drop_the_lengths_of_best,
    drop_the_lengths_of_best,
    empty_a_side,
    drop_some_lengths,
    drop_some_lengths,
    spoil_a_number,
    spoil_a_number,
    spoil_a_key,
    spoil_a_key,
    add_a_reference,
    name_a_length_twice,
    name_a_length_twice,
    spoil_a_shape,
    spoil_a_shape,
    leave_the_range_of_a_float,
)


def mixed_keys(rng: random.Random, table: dict[Any, Any]) -> dict[Any, Any]:
    """The same figures in another order, under "4096", 4096 or "4K"."""
    form = rng.choice(("text", "text", "int", "label", "mixed"))
    items = list(table.items())
    if rng.random() < 0.5:
        rng.shuffle(items)
    if form == "text":
        return {str(key) if type(key) is int else key: value for key, value in items}
    return {key_in_form(rng, key, form): value for key, value in items}


def key_in_form(rng: random.Random, key: Any, form: str) -> Any:
    if isinstance(key, bool) or not isinstance(key, int):
        return key
    if form == "mixed":
        form = rng.choice(("text", "int", "label"))
    if form == "label" and key % 1024**2 == 0 and key > 0:
        return f"{key // 1024**2}{rng.choice('Mm')}"
    if form == "label" and key % 1024 == 0 and key > 0:
        return f"{key // 1024}{rng.choice('KKk')}"
    return key if form == "int" else str(key)
