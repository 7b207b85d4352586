"""Which machine, which Python, which commit: what a result needs to be compared with another."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


def describe_machine() -> dict[str, Any]:
    """Plain JSON values; no host name and no path."""
    load_1m, load_5m, _ = os.getloadavg()
    return {
        "cpu": cpu_model(),
        "cores": os.cpu_count(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "system": platform.system(),
        "kernel": platform.release(),
        "arch": platform.machine(),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "load_at_start": {"1m": round(load_1m, 2), "5m": round(load_5m, 2)},
        "blas_settings": {k: v for k, v in sorted(os.environ.items()) if k.startswith("OPENBLAS_")},
    }


def is_busy() -> bool:
    """True when others keep a tenth of the cores at work: times will be worse than they are."""
    return os.getloadavg()[0] > 0.1 * (os.cpu_count() or 1)


def slug(machine: dict[str, Any]) -> str:
    """The machine in a file's name: intel-xeon-processor-2c."""
    words = re.sub(r"\(r\)|\(tm\)|@.*", " ", str(machine["cpu"]).lower())
    return f"{re.sub('[^a-z0-9]+', '-', words).strip('-') or 'cpu'}-{machine['cores']}c"


def commit_id() -> str:
    """The commit of this checkout, with "-dirty" where the sources differ from it."""
    git = ["git", "-C", str(ROOT)]
    try:
        head = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
        changed = subprocess.run(
            [*git, "status", "--porcelain", "--", "src", "benchmarks/*.py", "pyproject.toml"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return f"{head}-dirty" if changed else head


def cpu_model() -> str:
    """The processor's own name, else its architecture."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return platform.processor() or platform.machine()
    found = re.search(r"^(?:model name|Hardware)\s*:\s*(.+)$", text, re.MULTILINE)
    return found.group(1).strip() if found else platform.machine()
