"""Random screening rows and confirmation rounds: each clause reached, each threshold met from both sides."""

from __future__ import annotations

import math
import random
from typing import Any

from random_rows import BAD_KEYS, BAD_KEYS_NOT_OF_JSON, BAD_NUMBERS, BESIDE, NOT_PASS, OTHER_LENGTHS, SWEEP, mixed_keys
from second_confirm import T_NEEDED, standard_error, trim

Logs = list[dict[int, float]]


def some_lengths(rng: random.Random) -> list[int]:
    """1 to 8 L and now and then more; often 4 or 5, where the trimmed mean begins, and 8, the sweep."""
    count = rng.choice((1, 2, 3, 3, 4, 4, 4, 5, 5, 5, 6, 7, 8, 8, 8, 8, 9, 12))
    return list(SWEEP) if count == 8 else rng.sample(SWEEP + OTHER_LENGTHS, count)


def screen_case(rng: random.Random) -> tuple[Any, Any, dict[str, Any]]:
    """A row, a best row and the keywords of the call."""
    lengths = some_lengths(rng)
    keywords: dict[str, Any] = {}
    if rng.random() < 0.15:
        keywords["reference_jump"] = rng.choice((0.10, 0.05, 0.2))
    if rng.random() < 0.15:
        keywords["max_set_aside"] = rng.choice((0, 1, 2, 3, 8))
    if rng.random() < 0.15:
        keywords["pass_gain"] = rng.choice((0.01, 0.0, 0.02, 0.05))
    pass_gain = keywords.get("pass_gain", 0.01)

    best_per_l = {length: 0.5 + 2 * rng.random() for length in lengths}
    y = {length: rng.choice((0.0, 0.01, 0.02, 0.05)) + rng.gauss(0, 0.03) for length in lengths}
    old, new = moved_references(rng, lengths, keywords.get("reference_jump", 0.10))
    if rng.random() < 0.6:
        # Shifted so that the trimmed mean lies beside the threshold, if no L is set aside.
        shift = math.log1p(pass_gain + rng.choice(BESIDE)) - trim(list(y.values()))
        y = {length: value + shift for length, value in y.items()}
    row_per_l = {length: best_per_l[length] * math.exp(y[length]) for length in lengths}
    row = {"score": 1.2, "correctness": "pass", "per_L": row_per_l, "fi_us": new}
    best = {"score": 1.1, "correctness": "pass", "per_L": best_per_l, "fi_us": old}
    if rng.random() < 0.12:
        spoil_rows(rng, row, best)
    elif rng.random() < 0.04:
        spoil_the_stages(rng, row, best)
    for side in (row, best):
        for name in ("per_L", "fi_us"):
            if isinstance(side.get(name), dict):
                side[name] = mixed_keys(rng, side[name])
    return row, best if rng.random() < 0.98 else None, keywords


def moved_references(rng: random.Random, lengths: list[int], jump: float) -> tuple[dict[int, float], dict[int, float]]:
    """Reference times of both runs in microseconds: a drift common to all L, and some L that jumped beside `jump`."""
    old = {length: 0.5 + 5000 * rng.random() for length in lengths}
    drift = rng.choice((1.0, 1.0, math.exp(rng.gauss(0, 0.05)), 1.15, 0.85))
    spread = rng.choice((0.0, 0.0, 0.01, 0.04))
    new = {length: value * drift * math.exp(rng.gauss(0, spread)) for length, value in old.items()}
    for length in rng.sample(lengths, min(len(lengths), rng.choice((0, 0, 0, 1, 1, 2, 2, 3, 4)))):
        side = rng.choice((1, -1))
        new[length] = old[length] * drift * (1 + side * (jump + rng.choice((0.0, 0.05, 0.4, *BESIDE))))
    return old, new


def spoil_rows(rng: random.Random, row: dict[str, Any], best: dict[str, Any]) -> None:
    """One thing wrong with one of the sides: a number, a key, a shape, an L too few, no reference."""
    side, name = rng.choice((row, best)), rng.choice(("per_L", "per_L", "fi_us"))
    table = side[name]
    how = rng.randrange(7)
    if how == 0:
        table[rng.choice(list(table))] = rng.choice(BAD_NUMBERS)
    elif how == 1:
        table[rng.choice(BAD_KEYS + BAD_KEYS_NOT_OF_JSON)] = 1.1
    elif how == 2:
        del table[rng.choice(list(table))]
    elif how == 3:
        side[name] = rng.choice((None, {}, [1.1], "128", 1.1, False))
    elif how == 4:
        del side[name]
    elif how == 5:
        length = rng.choice(list(table))
        table[f" {length}"] = rng.choice((table[length], 1.25))
    else:
        length = rng.choice(list(table))
        row[name][length], best[name][length] = rng.choice(((1e308, 1e-308), (5e-324, 1e308)))


def spoil_the_stages(rng: random.Random, row: dict[str, Any], best: dict[str, Any]) -> None:
    """What the first three steps of judge end: a wrong answer, no score, no number for one, a best row without L."""
    how = rng.randrange(4)
    if how == 0:
        row["correctness"] = rng.choice(NOT_PASS)
    elif how == 1:
        row["score"] = None
        row["correctness"] = rng.choice(("pass", None, "fail"))
    elif how == 2:
        row["score"] = rng.choice(BAD_NUMBERS)
    else:
        best["per_L"] = rng.choice((None, {}))
        best["score"] = rng.choice((1.0, row["score"] / 1.02 + rng.choice(BESIDE), 2.0, rng.choice(BAD_NUMBERS)))


def decide_case(rng: random.Random) -> tuple[list[Any], dict[str, Any]]:
    """One to three rounds and the keywords of the call."""
    lengths = some_lengths(rng)
    keywords: dict[str, Any] = {}
    if rng.random() < 0.4:
        keywords["attempt"] = rng.choice((1, 2, 2))
    if rng.random() < 0.2:
        keywords["min_gain"] = rng.choice((0.02, 0.0, 0.03, 0.05))
    if rng.random() < 0.2:
        keywords["se_floor"] = rng.choice((0.002, 0.0, 0.001, 0.01))
    x = random_logs(rng, lengths, rng.choice((1, 2, 2, 2, 2, 3, 3)))
    aim(rng, x, keywords)
    rounds: list[Any] = [as_times(rng, logs) for logs in x]
    if rng.random() < 0.08:
        spoil_rounds(rng, rounds)
    return [mixed_keys(rng, one) if isinstance(one, dict) else one for one in rounds], keywords


def random_logs(rng: random.Random, lengths: list[int], count: int) -> Logs:
    """x_rL: the true change of each L and the noise of each round, some of it loud at one L."""
    gain, spread = rng.choice((0.005, 0.02, 0.03, 0.05, 0.1)), rng.choice((0.0, 0.01, 0.03))
    noise = rng.choice((0.0, 0.002, 0.01, 0.03, 0.08))
    true = {length: rng.gauss(gain, spread) for length in lengths}
    loud = rng.choice(lengths) if rng.random() < 0.3 else None
    return [
        {length: true[length] + rng.gauss(0, noise * (5 if length == loud else 1)) for length in lengths}
        for _ in range(count)
    ]


def aim(rng: random.Random, x: Logs, keywords: dict[str, Any]) -> None:
    """Moves the rounds so that one of the thresholds lies beside one of the numbers."""
    what = rng.choice(("m", "t", "t", "slower", "slower", "deep", "deep", "nothing"))
    lengths = list(x[0])
    if what in ("slower", "deep"):
        # Fast elsewhere, so that only these L decide.
        shift_all(x, 0.15)
        for length in rng.sample(lengths, min(len(lengths), rng.choice((1, 1, 1, 2, 2, 3)))):
            put_beside(rng, x, length, what)
        return
    xbar = [sum(logs[length] for logs in x) / len(x) for length in lengths]
    aimed = math.log(1.005) if len(x) == 1 else math.log1p(keywords.get("min_gain", 0.02))
    if what == "t" and len(x) > 1:
        se = max(keywords.get("se_floor", 0.002), standard_error(x, lengths))
        aimed = (T_NEEDED[keywords.get("attempt", 1)] + rng.choice((0.0, *BESIDE))) * se
    elif what != "nothing":
        aimed += rng.choice((0.0, *BESIDE))
    if what != "nothing":
        shift_all(x, aimed - trim(xbar))


def shift_all(x: Logs, by: float) -> None:
    for logs in x:
        for length in logs:
            logs[length] += by


def put_beside(rng: random.Random, x: Logs, length: int, what: str) -> None:
    if what == "slower":
        mean = sum(logs[length] for logs in x) / len(x)
        by = math.log(0.97) + rng.choice((0.0, -0.02, *BESIDE)) - mean
        for logs in x:
            logs[length] += by
        return
    for logs in x:
        logs[length] = math.log(0.92) + rng.choice((-0.01, -0.01, -0.1, *BESIDE, *BESIDE[:6]))
    if rng.random() < 0.2:
        rng.choice(x)[length] = 0.1


def as_times(rng: random.Random, logs: dict[int, float]) -> dict[Any, Any]:
    """L -> (champion, candidate), microseconds, as pairs or as the lists that JSON makes of them."""
    pair = rng.choice((tuple, tuple, list))
    champion = {length: 0.5 + 5000 * rng.random() for length in logs}
    return {length: pair((champion[length], champion[length] * math.exp(-logs[length]))) for length in logs}


def spoil_rounds(rng: random.Random, rounds: list[Any]) -> None:
    """One thing wrong with one round."""
    place = rng.randrange(len(rounds))
    one = rounds[place]
    length = rng.choice(list(one))
    champion, candidate = one[length]
    how = rng.randrange(8)
    if how == 0:
        one[length] = rng.choice(((rng.choice(BAD_NUMBERS), candidate), (champion, rng.choice(BAD_NUMBERS))))
    elif how == 1:
        one[rng.choice(BAD_KEYS + BAD_KEYS_NOT_OF_JSON)] = (1.1, 1.0)
    elif how == 2:
        del one[length]
    elif how == 3:
        one[524287] = (1.1, 1.0)
    elif how == 4:
        one[length] = rng.choice(((), (1.1,), (1.1, 1.0, 1.0), None, 1.1, "11", {}))
    elif how == 5:
        one[f" {length}"] = rng.choice((one[length], (1.1, 1.0)))
    elif how == 6:
        one[length] = rng.choice(((1e308, 1e-308), (5e-324, 1e308)))
    else:
        rounds[place] = rng.choice((None, {}, {}, [], "128", [(128, (1.0, 1.0))]))
