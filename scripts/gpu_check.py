"""Is src/mjolnir_kernel/t5_decode.py right on this GPU, and how fast? One JSON, at most 6 minutes.

Needs Python 3.11, torch and Triton 3.6 or newer on a CUDA 13 machine, and this repository around it; nothing of it has
to be installed. compute-sanitizer and FlashInfer are used where they are. Three parts: every input family on the device
against a float64 oracle; memcheck over two small cases; times with a cold L2 beside torch's own attention.

Exit codes: 0 all that ran is right, 1 something is wrong, 2 there is no device to ask. What was not run for lack of
time, memory or tools is named in the JSON under "skipped".

Example:
  python scripts/gpu_check.py --out gpu-check.json
  python scripts/gpu_check.py --only correctness --match needle --lengths 128,256K
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from gpu_check_document import Budget, Document, Watchdog, complain, in_one_line, say

ROOT = Path(__file__).resolve().parents[1]
SWEEP_TOKENS = (128, 4096, 8192, 16384, 32768, 65536, 131072, 262144)
INTERPRETED_TOKENS = (128,)


def main(words: Sequence[str] | None = None) -> int:
    """The exit code."""
    sys.path.insert(0, str(ROOT / "src"))
    options = _options(words)
    try:
        torch, triton = _libraries(options)
    except ImportError as error:
        complain(f"a library that this check needs cannot be imported: {error}", "pip install torch triton")
        return 2
    if options.device == "cuda" and not torch.cuda.is_available():
        complain(
            f"no CUDA device: torch {torch.__version__} sees none",
            "nvidia-smi shows what the driver sees; without a GPU: mjolnir verify correctness --target interpreter",
        )
        return 2
    device = torch.device("cuda", torch.cuda.current_device()) if options.device == "cuda" else torch.device("cpu")
    if options.build_flashinfer:
        from gpu_check_legs import build_flashinfer

        build_flashinfer(device)
        return 0
    return _check(options, torch, triton, device)


def _check(options: argparse.Namespace, torch: Any, triton: Any, device: Any) -> int:
    from gpu_check_cases import plan
    from gpu_check_machine import describe
    from gpu_check_parts import Check

    budget = Budget(options.minutes)
    lengths = options.lengths or (SWEEP_TOKENS if device.type == "cuda" else INTERPRETED_TOKENS)
    document = Document(options.out, budget, seed=options.seed, only=options.only, match=options.match, lengths=lengths)
    planned = plan(lengths, options.seed, options.match)
    if not planned:
        complain(
            f"no case's name holds {' or '.join(map(repr, options.match))}",
            "leave --match out: the JSON names every case",
        )
        return 2
    try:
        document.write()
    except OSError as error:
        complain(f"{options.out} cannot be written: {error.strerror}", "name another place with --out")
        return 2
    watchdog = Watchdog(document, budget)
    watchdog.start()
    facts = describe(torch, triton, device)
    document.put(**facts)
    for name, why in facts["not_importable"].items():
        say(f"not importable here, and not needed: {name} ({why})", budget)
    decode, why = _load_kernel()
    if decode is None:
        document.put(kernel_error=why)
        document.write()
        complain(f"the kernel file cannot be loaded: {why}", "python src/mjolnir_kernel/t5_decode.py shows where")
        return 1
    check = Check(
        options=options,
        budget=budget,
        document=document,
        watchdog=watchdog,
        device=device,
        decode=decode,
        planned=planned,
        lengths=lengths,
    )
    check.run()
    watchdog.stop()
    document.put(ok=check.wrong == 0, complete=document.skipped == 0)
    document.write()
    say(f"{check.wrong} wrong, {document.skipped} parts skipped; written to {options.out}", budget)
    return 1 if check.wrong else 0


def _load_kernel() -> tuple[Callable[..., None] | None, str]:
    try:
        from mjolnir_kernel.t5_decode import decode
    except Exception as error:  # noqa: BLE001  (the file under edit may raise anything: said in two lines)
        return None, in_one_line(error)
    return decode, ""


def _libraries(options: argparse.Namespace) -> tuple[Any, Any]:
    """torch and triton. --device cpu-interpreter shows that this script runs: necessary, not sufficient."""
    if options.device != "cuda":
        from mjolnir.worker.exact_interpreter import InterpreterError
        from mjolnir.worker.legs.triton_interpreter import make_leg

        try:
            make_leg()
        except InterpreterError as error:
            raise ImportError(str(error)) from error
    import numpy  # noqa: F401
    import torch
    import triton

    return torch, triton


def _options(words: Sequence[str] | None) -> argparse.Namespace:
    head, _, example = (__doc__ or "").partition("Example:\n")
    parser = argparse.ArgumentParser(
        prog="gpu_check.py",
        description=head.strip(),
        epilog=f"example:\n{example}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--out", type=Path, default=Path("gpu-check.json"), help="the JSON to write (default: gpu-check.json)")
    add("--only", choices=("correctness", "timing"), help="one part; the sanitizer belongs to correctness")
    add("--minutes", type=_minutes, default=6.0, help="wall-clock time for everything (default: 6)")
    add("--match", action="append", default=[], metavar="TEXT", help="only cases whose name holds it; repeatable")
    add("--lengths", type=_lengths, default=(), help='context lengths such as "128,4K" (default: 128 and 4K to 256K)')
    add("--seed", type=int, default=None, help="draws the same cases and inputs again (default: a fresh one)")
    add("--no-sanitizer", action="store_true", help="leave compute-sanitizer out")
    add("--device", choices=("cuda", "cpu-interpreter"), default="cuda", help=argparse.SUPPRESS)
    add("--build-flashinfer", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(words)
    if options.seed is None:
        options.seed = int.from_bytes(os.urandom(4), "big")
    return options


def _minutes(text: str) -> float:
    minutes = float(text)
    if not 0 < minutes <= 60:
        raise argparse.ArgumentTypeError(f"{text}: more than 0 and at most 60 minutes")
    return minutes


def _lengths(text: str) -> tuple[int, ...]:
    from mjolnir.core.lengths import parse_lengths

    try:
        return parse_lengths(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


if __name__ == "__main__":
    try:
        raise SystemExit(main())
    except KeyboardInterrupt:
        complain("interrupted", "the JSON holds what was finished")
        raise SystemExit(130) from None
