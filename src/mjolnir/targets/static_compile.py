"""PTX -> machine code -> facts: the assembler that Triton would have called, cuobjdump and nvdisasm on what it made."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import msgspec

from mjolnir.core import sass, sass_loop
from mjolnir.core.gpu_arch import GpuArch
from mjolnir.core.static_facts import MachineCode
from mjolnir.errors import EnvironmentFault
from mjolnir.process import Finished
from mjolnir.targets import static_cache
from mjolnir.targets.static_answer import UnitAnswer, unsafe_option
from mjolnir.targets.static_tools import GpuTools, run_tool

_RESOURCES = re.compile(rb"REG:(\d+) STACK:(\d+)")
_SPILLED = re.compile(rb"(\d+) bytes spill stores, (\d+) bytes spill loads")
_COMPLAINT = re.compile(r"\b(?:error|fatal)\b", re.IGNORECASE)
_OUR_NAMES = re.compile(r"^ptxas(?:-blackwell)?\s+(?:kernel\.ptx,\s*)?")
_ABORTED = "Ptx assembly aborted"
_MAX_COMPLAINTS = 3
_DETAIL_CHARS, _LOG_CHARS = 400, 6000


class CompilerError(Exception):
    """The assembler refuses the program. The message is in its own words, cut to the point; `log` is all of it."""

    def __init__(self, message: str, log: str = "") -> None:
        super().__init__(message)
        self.log = log


def compile_unit(unit: UnitAnswer, arch: GpuArch, tools: GpuTools, *, trusts_cache: bool = True) -> MachineCode:
    """Facts of one program, from the cache where it was compiled before and that is trusted.

    Raises CompilerError, EnvironmentFault.
    """
    odd = unsafe_option(unit.options)
    if odd:
        raise CompilerError(f"the assembler's option {odd!r} is not one that mjolnir passes on")
    if f"--gpu-name={arch.name}" not in unit.options:
        raise CompilerError(f"the kernel was compiled for another device than {arch.name}")
    if arch.name not in tools.known_arches(unit.tool):
        known = ", ".join(tools.known_arches(unit.tool))
        raise CompilerError(f"{unit.tool} {tools.versions[unit.tool]} does not know {arch.name}; it knows {known}")
    source = static_cache.source_of(sass, sass_loop)
    key = static_cache.cache_key(source, unit.ptx, unit.tool, tools.versions[unit.tool], *unit.options)
    remembered = _as_code(static_cache.read_entry(key)) if trusts_cache else None
    if remembered is not None:
        return remembered
    code = _compile(unit, tools)
    static_cache.write_entry(key, asdict(code))
    return code


def _as_code(value: Any) -> MachineCode | None:
    try:
        return msgspec.convert(value, type=MachineCode)
    except msgspec.ValidationError:
        return None


def _compile(unit: UnitAnswer, tools: GpuTools) -> MachineCode:
    with tempfile.TemporaryDirectory(prefix="mjolnir-static-") as name:
        folder = Path(name)
        (folder / "kernel.ptx").write_text(unit.ptx, encoding="utf-8")
        words = [*unit.options, *(["-v"] if "-v" not in unit.options else []), "kernel.ptx", "-o", "kernel.cubin"]
        made = run_tool(tools.folder / unit.tool, words, folder)
        if not made.ok:
            raise _complaint(unit.tool, made)
        resources = _run_reader(tools, "cuobjdump", ["--dump-resource-usage", "kernel.cubin"], folder)
        text = _run_reader(tools, "nvdisasm", ["-c", "kernel.cubin"], folder).decode("utf-8", "replace")
    found = [(int(m[1]), int(m[2])) for m in _RESOURCES.finditer(resources)]
    if not found:
        raise EnvironmentFault("E_PRECONDITION", "cuobjdump names no registers", "install the triton that mjolnir pins")
    functions = sass.parse_sass(text)
    loops = [loop for f in functions if (loop := sass_loop.find_main_loop(f)) is not None]
    loop = max(loops, key=lambda one: one.num_mma, default=None)
    counted = loop.instructions if loop is not None else [one for f in functions for one in f.instructions]
    return MachineCode(
        registers=max(registers for registers, _ in found),
        stack_bytes=max(stack for _, stack in found),
        spills=sass.count_spills(functions),
        spill_bytes=sum(int(m[1]) + int(m[2]) for m in _SPILLED.finditer(made.stderr + made.stdout)),
        instructions=sum(len(f.instructions) for f in functions),
        sass_hash=sass.sass_hash(functions),
        loop_instructions=len(loop.instructions) if loop is not None else None,
        mix=sass.count_classes(counted),
        mma=sass.count_mma(counted),
    )


def _run_reader(tools: GpuTools, name: str, words: list[str], folder: Path) -> bytes:
    said = run_tool(tools.folder / name, words, folder)
    if not said.ok:
        why = said.stderr.decode("utf-8", "replace").strip().splitlines()
        raise EnvironmentFault(
            "E_PRECONDITION",
            f"{name} cannot read what the assembler made: {(why or ['no word of why'])[-1][:200]}",
            "install the triton that mjolnir pins: its programs belong together",
        )
    return said.stdout


def _complaint(tool: str, made: Finished) -> CompilerError:
    """The lines that complain, without the name of our file; what the assembler says besides is in the log."""
    text = (made.stderr + made.stdout).decode("utf-8", "replace")
    if made.timed_out:
        return CompilerError(f"{tool} did not end within its time limit", text[-_LOG_CHARS:])
    lines = [
        " ".join(_OUR_NAMES.sub("", line.strip()).split()) for line in text.splitlines() if _COMPLAINT.search(line)
    ]
    lines = [line for line in lines if _ABORTED not in line] or lines
    said = "; ".join(_distinct(lines)[:_MAX_COMPLAINTS]) or f"it ended with {made.returncode} and said nothing"
    return CompilerError(f"{tool}: {said}"[:_DETAIL_CHARS], text[-_LOG_CHARS:])


def _distinct(lines: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(lines))
