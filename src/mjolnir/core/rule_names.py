"""The keep rules by the names that mjolnir.toml, `init --rule` and rows give them (docs/keep-rule.md)."""

SEED = "seed"
"""`judge` alone decides."""
CONFIRMED = "confirmed"
"""`screen`, then `decide` on rounds in which champion and candidate run side by side."""
KEEP_RULES = (CONFIRMED, SEED)
