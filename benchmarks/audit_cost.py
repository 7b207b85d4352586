"""What `audit` of a long run costs: every hash, commit, document and verdict of it, children included."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

from checkout import HERE, OUR_COMMAND, OUR_PYTHON, Place
from child_cost import run_child
from counts import Counts
from figure import Figure
from sample_run import LENGTHS, TAG

Say = Callable[[str], None]
AUDIT_BOUND_S = 5.0


def make_long_run(place: Place, name: str, rows: int) -> Path:
    """A research repository made by the tool itself, with the eight lengths of the GPU targets and a long run in it."""
    root = place.folder / name
    run_child([OUR_COMMAND, "new", root, "--target", "cpu"], cwd=place.folder, env=place.env)
    config = root / "mjolnir.toml"
    config.write_text(re.sub(r"(?m)^lengths = .*$", f"lengths = {list(LENGTHS)}", config.read_text()))
    run_child(["git", "commit", "-q", "-m", "eight lengths", "--", "mjolnir.toml"], cwd=root, env=place.env)
    words = ["autoresearch", "init", TAG, "--no-baseline", "--no-calibrate", "--rule", "confirmed"]
    run_child([OUR_COMMAND, *words], cwd=root, env=place.env)
    run_child([OUR_PYTHON, HERE / "audit_rows.py", root, str(rows)], cwd=root, env=place.env)
    return root


def measure(counts: Counts, place: Place, say: Say) -> list[Figure]:
    """CPU of the whole command. Raises RuntimeError when it finds anything: then it did not do all of its work."""
    say(f"a run with {counts.rows:,} rows to audit")
    root = make_long_run(place, "audit", counts.rows)
    samples = []
    for number in range(counts.rounds):
        cost = run_child([OUR_COMMAND, "autoresearch", "audit", "--json"], cwd=root, env=place.env)
        answer = json.loads(cost.out)
        if (answer["ok"], answer["rows"]) != (True, counts.rows):
            raise RuntimeError(f"the audit of an honest run answered {cost.out[:300]}")
        samples.append(cost.cpu_s)
        say(f"audit of {counts.rows:,} rows: round {number + 1} of {counts.rounds}")
    return [
        Figure(
            name=f"audit of {counts.rows:,} rows: CPU",
            unit="s",
            ours=samples,
            bound=AUDIT_BOUND_S,
            note="one row in three with a confirmation, eight lengths; git's processes included",
        )
    ]
