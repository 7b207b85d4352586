"""Where a check ran, what can be imported there, and the children it starts. Part of gpu_check.py."""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import importlib.util
import json
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gpu_check_document import in_one_line

ROOT = Path(__file__).resolve().parents[1]
KERNEL = ROOT / "src" / "mjolnir_kernel" / "t5_decode.py"
SCRIPT = Path(__file__).with_name("gpu_check.py")
SANITIZER_PLACES = ("compute-sanitizer", "/usr/local/cuda/bin/compute-sanitizer")
SANITIZED_CASES = tuple(f"sweep: q {q} kv fp8_e4m3 d256 page 128 24/4: needle ragged" for q in ("bf16", "fp8_e4m3"))
"""Small cases of both paths of the kernel."""
NOT_NEEDED = ("mjolnir.oracle.inputs", "mjolnir.cli", "flashinfer")
"""Imported only to say whether they could be."""
_ERRORS = re.compile(r"ERROR SUMMARY: (\d+) error")
_CANNOT_LOOK = "Device not supported"
_QUESTION_S = 10


def describe(torch: Any, triton: Any, device: Any) -> dict[str, Any]:
    """Device, versions, commit: what a reader needs to know which number this is."""
    return {
        "device": _device(torch, device),
        "versions": {
            "python": platform.python_version(),
            "torch": torch.__version__,
            "cuda_of_torch": torch.version.cuda,
            "triton": triton.__version__,
            "driver": _answer(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]),
        },
        "commit": _answer(["git", "-C", str(ROOT), "rev-parse", "HEAD"]),
        "kernel": {
            "path": str(KERNEL.relative_to(ROOT)),
            "sha256": hashlib.sha256(KERNEL.read_bytes()).hexdigest(),
            "differs_from_commit": _differs(),
        },
        "not_importable": not_importable(),
    }


def not_importable() -> dict[str, str]:
    """Which modules that are not needed cannot be imported here, and why."""
    found = {}
    for name in NOT_NEEDED:
        try:
            importlib.import_module(name)
        except ImportError as error:
            found[name] = str(error)
        except Exception as error:  # noqa: BLE001  (a library that stops in its own import: not this check's matter)
            found[name] = in_one_line(error)
    return found


def _device(torch: Any, device: Any) -> dict[str, Any]:
    if device.type != "cuda":
        return {"name": "Triton's interpreter on a CPU: necessary, not sufficient", "processor": platform.machine()}
    facts = torch.cuda.get_device_properties(device)
    return {
        "name": facts.name,
        "capability": f"{facts.major}.{facts.minor}",
        "multiprocessors": facts.multi_processor_count,
        "memory_bytes": facts.total_memory,
        "l2_bytes": getattr(facts, "L2_cache_size", None),
        "shared_memory_per_multiprocessor_bytes": getattr(facts, "shared_memory_per_multiprocessor", None),
    }


def _differs() -> bool | None:
    """Whether the kernel file is not as in the commit; None when git does not say."""
    answer = _answer(["git", "-C", str(ROOT), "status", "--porcelain", "--", str(KERNEL)], empty="")
    return None if answer is None else answer != ""


def _answer(command: list[str], empty: str | None = None) -> str | None:
    """The first line of what a program answers; `empty` where it answers nothing; None where it fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_QUESTION_S, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return (done.stdout.strip().splitlines() or [empty])[0]


@dataclass(kw_only=True)
class Child:
    """A process that runs beside the correctness part, with its output in a file."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path
    folder: tempfile.TemporaryDirectory[str] = field(repr=False)

    def wait(self, seconds: float) -> bool:
        """Whether it ended by itself in that time; else it is ended."""
        try:
            self.process.wait(max(0.0, seconds))
        except subprocess.TimeoutExpired:
            self.end()
            return False
        return True

    def end(self) -> None:
        """Ends it and what it started, where they still run."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def output(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace")

    def last_line(self) -> str:
        return (self.output().strip().splitlines() or ["no output"])[-1][:300]


def start_child(name: str, command: list[str], **environment: str) -> Child:
    folder = tempfile.TemporaryDirectory(prefix="gpu-check-")
    log = Path(folder.name) / "log"
    with log.open("wb") as stream:
        process = subprocess.Popen(
            [word.replace("FOLDER", folder.name) for word in command],
            stdout=stream,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env=os.environ | environment,
        )
    return Child(name=name, process=process, log=log, folder=folder)


def start_sanitizer(seed: int, minutes: float) -> Child | None:
    """compute-sanitizer's memcheck over small cases; None where it is not installed.

    Without torch's caching allocator each tensor is an allocation of its own, so that one step beyond it is seen.
    """
    tool = next((found for place in SANITIZER_PLACES if (found := shutil.which(place))), None)
    if tool is None:
        return None
    matches = [word for text in SANITIZED_CASES for word in ("--match", text)]
    check = [sys.executable, str(SCRIPT), "--only", "correctness", "--no-sanitizer", "--seed", str(seed)]
    check += ["--minutes", f"{minutes:.2f}", "--out", "FOLDER/out.json", *matches]
    return start_child("compute-sanitizer", [tool, "--tool", "memcheck", *check], PYTORCH_NO_CUDA_MEMORY_CACHING="1")


def start_flashinfer_build() -> Child | None:
    """FlashInfer compiles at its first call, for up to minutes: in a child, which can be ended. None: not installed."""
    if importlib.util.find_spec("flashinfer") is None:
        return None
    return start_child("FlashInfer", [sys.executable, str(SCRIPT), "--build-flashinfer"])


def judge_sanitizer(child: Child) -> dict[str, Any]:
    """errors: what memcheck found. passed is None where it could not look at this device, or at any case."""
    output = child.output()
    summary = _ERRORS.findall(output)
    try:
        inner = json.loads((Path(child.folder.name) / "out.json").read_text(encoding="utf-8"))
        cases = {case["name"]: case["passed"] for case in inner["cases"]}
    except (OSError, ValueError, KeyError):
        cases = {}
    if not summary or not cases or _CANNOT_LOOK in output:
        return {"passed": None, "errors": None, "cases": [], "detail": child.last_line()}
    errors = int(summary[-1])
    first = next((line for line in output.splitlines() if "Invalid" in line), "")
    passed = errors == 0 and all(cases.values())
    return {"passed": passed, "errors": errors, "cases": list(cases), "detail": first.strip("= ")[:300]}
