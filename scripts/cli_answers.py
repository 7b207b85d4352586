"""What no option can tell of a command: exit codes and the JSON answer. Data for make_cli_docs.py."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a command answers beside its text. `codes`: exit codes that need a word; `json`: the shape, empty: none."""

    codes: Mapping[int, str] = field(default_factory=dict)
    json: str = ""
    notes: str = ""


ANSWERS: Mapping[str, Answer] = {
    "mjolnir new": Answer(codes={4: "the folder is not empty, lies inside another repository, or cannot be written"}),
    "mjolnir demo": Answer(codes={1: "a step did not end as told; what it made stays, its folder is named"}),
    "mjolnir doctor": Answer(
        codes={2: "something required is missing; the lines and `checks` say what"},
        json="""
        {"schema": "mjolnir.doctor/1", "target": "text", "ok": "true or false",
         "checks": [{"name": "text", "ok": "true or false", "found": "text", "hint": "text; with ok true: a warning"}]}
        """,
    ),
    "mjolnir explain": Answer(
        codes={2: "there is no such word; the hint names the nearest"},
        json="""
        {"schema": "mjolnir.explain/1",
         "entries": [{"code": "text", "kind": "status, rule, invalid, refusal, finding, environment or exit",
                      "meaning": "text", "mend": "text, empty where there is nothing to mend"}]}
        """,
    ),
    "mjolnir verify correctness": Answer(
        codes={1: "a required case failed, the kernel crashed or broke a rule; the answer is beside `error`"},
        json="""
        {"schema": "mjolnir.correctness/1", "passed": "true or false", "seed": "integer", "run_id": "text",
         "cases": [{"family": "text", "case": "text", "passed": "true or false", "unsupported": "true or false",
                    "error": "worst row-relative L2, or null", "limit": "number or null", "detail": "text"}]}
        """,
    ),
    "mjolnir verify sweep": Answer(
        codes={1: "the kernel crashed or broke a rule; the document is beside `error`"},
        json="""
        {"schema": "mjolnir.verify/1", "stage": "sweep", "run_id": "text, null with --no-save",
         "default": "true or false", "host": "text",
         "environment": {"mjolnir": "text", "python": "text", "platform": "text", "device": "object"},
         "gate": "object", "params": "object with target, kernel, origin, seed, lengths, iters, gate ...",
         "series": [{"id": "text", "label": "text", "role": "reference or candidate",
                     "points": [{"L": "integer", "total_us": "number or null", "...": "raw blocks, by the target"}]}],
         "cases": [], "summary": {"score": "number or null", "per_L": {"L": "speedup"}, "outcome": "text"},
         "kernel_blob": "text"}
        """,
        notes="""The run document (`docs/harness.md`). `outcome` is passed, noisy, crash or an integrity code. With
`--dry-run` the document says what would be timed: `dry_run` is true and nothing is measured.""",
    ),
    "mjolnir verify static": Answer(
        codes={
            1: "the kernel does not compile, exceeds a limit of the device, or its host code fails; `failure` says how",
            2: "torch or triton is not installed, or the assembler does not know the architecture",
        },
        json="""
        {"schema": "mjolnir.static/1", "arch": "text", "device": "text", "compiles": "true or false",
         "toolchain": {"triton": "text", "torch": "text", "ptxas": "text"},
         "launches": [{"kernel": "text", "q_dtype": "text", "lengths": ["integers"], "grid": ["three integers"],
                       "constexprs": {"...": "text"}, "warps": "integer", "stages": "integer", "registers": "integer",
                       "spills": "integer", "spill_bytes": "integer", "stack_bytes": "integer",
                       "shared_bytes": "integer", "tmem_columns": "integer", "ctas_per_sm": "integer",
                       "limiter": "registers, shared, threads, blocks or tensor memory",
                       "ctas_per_sm_queried": "integer or null", "instructions": "integer",
                       "loop_instructions": "integer or null", "rows_per_iteration": "number or null",
                       "instructions_per_kv_row": "number or null", "mix": {"...": "integer"},
                       "mma": {"...": "integer"}, "bytes_ratio": "number or null", "bytes_ratio_per_L": {"L": "number"},
                       "partial_bytes": "integer", "sass_hash": "text"}],
         "code_hash": "text", "floor_us": {"L": "number"}, "notes": ["texts"],
         "against": {"commit": "text", "is_same_program": "true or false",
                     "launches": [{"...": "before and after of a launch"}]}}
        """,
        notes="""A row of `launches` is a distinct launch: one kernel, grid and machine code at `lengths`. `spills`:
loads and stores of local memory. `instructions_per_kv_row`: warp-instructions of the main loop per K and V row of one
head. `bytes_ratio`: bytes of K and V loaded per byte of KV, at the worst L. `floor_us` is a bound, not a
prediction. `against` is null without `--against`. On exit 1 `failure` holds kind, detail and log.""",
    ),
    "mjolnir verify list": Answer(
        json="""
        {"schema": "mjolnir.verify-list/1", "documents": [{"stage": "text", "run_id": "text", "path": "text"}]}
        """,
    ),
    "mjolnir verify show": Answer(
        codes={2: "there is no run document yet"}, notes="`--json` prints the run document as it was saved."
    ),
    "mjolnir autoresearch init": Answer(
        codes={
            1: "the starting kernel is wrong or does not run; branch, ledger and state are as before",
            2: "nothing could be measured, or one kernel timed against itself scatters by more than 15 %",
        },
    ),
    "mjolnir autoresearch evaluate": Answer(
        codes={
            0: "a row was written, whatever its status",
            2: "nothing could be measured",
            4: "refused: see the refusals at the end of this page",
        },
        json="""
        {"schema": "mjolnir.evaluate/1", "id": "integer", "status": "text", "rule": "text", "reason": "text",
         "score": "number or null", "best_before": "number or null", "correctness": "pass, fail or null",
         "commit": "text", "commit_full": "text", "kernel_blob": "text", "per_L": {"L": "speedup"},
         "vs_best": {"L": "speedup / the champion's"}, "set_aside": ["integers"], "codes": ["texts"],
         "attempt": "integer", "seconds": {"stage": "number"}, "notes": ["texts"], "profile": null,
         "verify_runs": {"stage": "run id or null"}, "screen": "object or null", "confirm": "object or null",
         "plateau": "a sentence, or null",
         "next": {"action": "continue, reset, evaluate_again or fix", "text": "text", "command": "text or null"},
         "log": "path or null"}
        """,
        notes="""The keys are those of the row (`docs/ledger.md`). The last lines of the human form say what to do next.
`E_SAME_PROGRAM` and `E_BUDGET` carry the earlier row as `first`, beside `error`.""",
    ),
    "mjolnir autoresearch ledger": Answer(
        json="""
        {"schema": "mjolnir.ledger-view/1", "run": "tag or null", "total": "integer", "rows": ["whole rows"]}
        """,
        notes="Rows are newest last.",
    ),
    "mjolnir autoresearch show": Answer(
        codes={2: "there is no such experiment"},
        json="""
        {"schema": "mjolnir.show/1", "row": "the whole row",
         "diff": "text with --diff, null without it or when its commits are gone", "summary": null,
         "documents": [{"stage": "text", "run_id": "text", "path": "text or null", "document": "object or null"}],
         "logs": ["paths"]}
        """,
    ),
    "mjolnir autoresearch status": Answer(
        json="""
        {"schema": "mjolnir.status/1", "run": "tag or null", "branch": "text or null", "target": "text or null",
         "total": "integer", "counts": {"status": "integer"}, "baseline": "row or null", "champion": "row or null",
         "score": "the champion's, or null", "confirmed_gain": "ratio minus 1, or null",
         "confirmed_gain_interval": ["low and high, or null"], "plateau": "true or false",
         "since_gain": "integer", "plateau_text": "a sentence, or null",
         "chain": {"ok": "true or false", "rows": "integer", "problem": "text or null",
                   "anchored": "true or false"},
         "running": {"pid": "integer", "commit": "text", "hypothesis": "text", "stage": "text", "started": "text",
                     "alive": "true or false", "log": "text or null"},
         "calibration": "what calibrate --json says, or null", "recheck": "what recheck --json says, or null",
         "stop_reason": null}
        """,
        notes="""`running` is null when no evaluation is in progress or was left behind.""",
    ),
    "mjolnir autoresearch calibrate": Answer(
        codes={2: "nothing could be measured, or the champion fails in it; nothing was written"},
        json="""
        {"schema": "mjolnir.calibrate/1", "id": "text", "utc": "text", "mjolnir": "version", "harness_hash": "text",
         "config_hash": "text", "target": "text", "commit": "text", "kernel": "program hash", "device": "object",
         "lengths": ["integers"], "worker_pairs": "integer", "min_gain": "ratio minus 1", "runs": "integer",
         "rounds": [{"L": ["the two times in microseconds"]}], "sigma": {"L": "log scale"},
         "bimodal": {"L": {"fast": "ratio to the middle", "slow": "the same", "slow_share": "share"}},
         "sd_m": "log scale", "se_floor": "log scale", "noisy_lengths": ["integers"], "too_noisy_lengths": ["integers"],
         "rates": {"seed": {"no_op": {"value": "share", "low": "95 %", "high": "95 %", "hits": "integer",
                                      "trials": "integer"},
                            "power": {"...": "a true gain, and its share as under no_op"}},
                   "confirmed": {"no_op": {"value": "share", "low": "95 %", "high": "95 %", "hits": "integer",
                                           "trials": "integer"},
                                 "power": {"...": "the same"}}},
         "notes": ["texts"]}
        """,
        notes="""It is kept beside the ledger, never as a row. `docs/keep-rule.md` says how to read it.""",
    ),
    "mjolnir autoresearch recheck": Answer(
        codes={2: "nothing could be measured, or the champion fails; nothing was written"},
        json="""
        {"schema": "mjolnir.recheck/1", "id": "run id", "ts": "text", "run": "tag", "target": "text",
         "device": "object", "rounds": "integer", "lengths": ["integers"],
         "baseline": {"id": "integer", "commit": "text", "kernel_blob": "text"},
         "champion": {"id": "integer", "commit": "text", "kernel_blob": "text"},
         "speedup": {"value": "ratio", "low": "95 %", "high": "95 %", "per_L": {"L": "ratio"}},
         "score": {"value": "ratio", "low": "95 %", "high": "95 %", "per_L": {"L": "ratio"}},
         "baseline_score": {"value": "ratio", "low": "95 %", "high": "95 %", "per_L": {"L": "ratio"}},
         "claimed": {"speedup": "ratio or null", "low": "95 % or null", "high": "95 % or null", "score": "number",
                     "baseline_score": "number"},
         "agrees": "true, false or null", "unsteady": ["texts"], "notes": ["texts"], "seconds": "number"}
        """,
        notes="""It is a run document and a line beside the ledger, never a row. `speedup` and `baseline_score` are null
while the baseline is the champion.""",
    ),
    "mjolnir autoresearch audit": Answer(
        codes={1: "there are findings; the list is beside `error`"},
        json="""
        {"schema": "mjolnir.audit/1", "ok": "true or false", "rows": "integer",
         "findings": [{"code": "text", "row": "id or null", "message": "text", "hint": "text"}]}
        """,
        notes="""`docs/ledger.md` lists what is looked at. Only `--repair` writes anything.""",
    ),
    "mjolnir autoresearch chart": Answer(notes="Without any row the chart is drawn empty."),
    "mjolnir autoresearch export": Answer(codes={4: "there is no run with rows, or its ledger is damaged"}),
}

CONFIG_KEYS: Mapping[str, str] = {
    "run.target": "where the kernel runs; auto: the best target of this machine, today cpu",
    "run.min_gain": "a keep must gain more than this part",
    "run.rule": "the keep rule",
    "run.allow": "what a commit may touch beside the kernel: files, or folders",
    "run.sandbox": "how a kernel is confined",
    "run.plateau": "experiments without a keep before `status` says so",
    "targets.NAME.kernel": "the kernel file",
    "targets.NAME.lengths": "context lengths of the sweep, in tokens",
    "targets.NAME.min_gain": "may ask for more than [run]: the larger one holds",
    "targets.NAME.worker_pairs": "fresh pairs of worker processes in one evaluation",
    "targets.NAME.time_limit_s": "seconds that each stage may take",
    "targets.NAME.memory_limit_gib": "memory of a worker, beside the inputs",
    "targets.NAME.bandwidth_gbps": "of the device, for the column '% of floor'; 0: unknown",
    "workload.kind": "what a kernel computes",
    "workload.num_q_heads": "query heads",
    "workload.num_kv_heads": "KV heads",
    "workload.head_dim": "elements of a head",
    "workload.page_size": "tokens of a page",
    "workload.kv_dtype": "element type of the KV cache",
    "workload.q_dtype": "element type of q",
    "workload.batch": "rows of a timed call",
}
"""Keys of mjolnir.toml that have an effect today; the others are accepted and belong to what comes later."""
