"""What the values of mjolnir.toml must be, beyond their types: one line a key, in the words a user reads."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mjolnir.core.lengths import MAX_LENGTH_TOKENS
from mjolnir.core.rule_names import KEEP_RULES
from mjolnir.core.workload import BYTES_PER_ELEMENT

if TYPE_CHECKING:
    from mjolnir.config import Config, TargetSection


def value_rules(config: Config) -> list[tuple[str, bool, str]]:
    """(key, does it make sense, what it must be) for every value that a type alone cannot bound."""
    run, w = config.run, config.workload
    rules = [
        ("run.min_gain", 0 <= run.min_gain <= 1, "a ratio from 0 to 1 (0.02 is 2 %)"),
        ("run.rule", run.rule in KEEP_RULES, '"confirmed" or "seed"'),
        ("run.sandbox", run.sandbox in ("process",), '"process"'),
        ("run.plateau", 1 <= run.plateau <= 100_000, "a count of experiments from 1 to 100000"),
        ("run.target", run.target == "auto" or run.target in config.targets, '"auto" or a [targets.NAME] of this file'),
        ("run.allow", all(is_inside(p) for p in run.allow), "paths inside the repository"),
        ("workload.kind", w.kind == "paged_decode", '"paged_decode"'),
        ("workload.num_kv_heads", 1 <= w.num_kv_heads <= 256, "from 1 to 256"),
        (
            "workload.num_q_heads",
            _is_multiple(w.num_q_heads, w.num_kv_heads),
            "a multiple of num_kv_heads, at most 1024",
        ),
        ("workload.head_dim", 8 <= w.head_dim <= 1024, "from 8 to 1024"),
        ("workload.page_size", 1 <= w.page_size <= 1024, "from 1 to 1024 tokens"),
        ("workload.batch", 1 <= w.batch <= 256, "from 1 to 256"),
        ("workload.kv_dtype", w.kv_dtype in BYTES_PER_ELEMENT, " or ".join(BYTES_PER_ELEMENT)),
        ("workload.q_dtype", w.q_dtype in BYTES_PER_ELEMENT, " or ".join(BYTES_PER_ELEMENT)),
        ("summaries.max_usd", 0 <= config.summaries.max_usd <= 10_000, "an amount from 0 to 10000"),
    ]
    for name, t in config.targets.items():
        rules += _target_rules(f"targets.{name}", t)
    return rules


def _target_rules(key: str, t: TargetSection) -> list[tuple[str, bool, str]]:
    ascending = list(t.lengths) == sorted(set(t.lengths))
    in_range = all(1 <= n <= MAX_LENGTH_TOKENS for n in t.lengths)
    return [
        (f"{key}.kernel", is_inside(t.kernel) and t.kernel.endswith(".py"), "a .py file inside the repository"),
        (
            f"{key}.lengths",
            bool(t.lengths) and ascending and in_range,
            "ascending context lengths in tokens, each once",
        ),
        (f"{key}.min_gain", 0 <= t.min_gain <= 1, "a ratio from 0 to 1 (0.05 is 5 %)"),
        (f"{key}.worker_pairs", 1 <= t.worker_pairs <= 16, "from 1 to 16"),
        (f"{key}.time_limit_s", 1 <= t.time_limit_s <= 86_400, "from 1 to 86400 seconds"),
        (f"{key}.memory_limit_gib", 0.25 <= t.memory_limit_gib <= 4096, "from 0.25 to 4096 GiB"),
        (f"{key}.bandwidth_gbps", 0 <= t.bandwidth_gbps <= 1e6, "a bandwidth in GB/s, 0 for unknown"),
    ]


def _is_multiple(q_heads: int, kv_heads: int) -> bool:
    return 1 <= kv_heads <= q_heads <= 1024 and q_heads % kv_heads == 0


def is_inside(path: str) -> bool:
    """True for a relative path that stays inside the repository and outside .git."""
    parts = Path(path).parts
    return (
        bool(parts) and not Path(path).is_absolute() and ".." not in parts and parts[0] != ".git" and "\0" not in path
    )
