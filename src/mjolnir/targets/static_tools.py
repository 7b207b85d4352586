"""The NVIDIA programs that come with Triton, found without importing it: the assembler, the disassembler, cuobjdump."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from mjolnir.core.gpu_arch import ARCHES, GpuArch
from mjolnir.errors import EnvironmentFault, UsageFault
from mjolnir.process import Finished, run

INSTALL_HINT = "pip install 'mjolnir-autoresearch[gpu]'"
ASSEMBLERS = ("ptxas", "ptxas-blackwell")
_RELEASE = re.compile(rb"release (\d+\.\d+), V([\d.]+)")
_ARCH = re.compile(rb"'(sm_\d+[a-z]?)'")
_TIME_LIMIT_S = 120.0
_ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuTools:
    """The programs of one installed Triton. `releases`: {assembler: "13.4"}, which decides the PTX that Triton writes;
    `versions`: {assembler: "13.4.59"}, which decides the machine code."""

    triton: str
    torch: str
    folder: Path
    releases: Mapping[str, str]
    versions: Mapping[str, str]

    def known_arches(self, assembler: str) -> tuple[str, ...]:
        """The names that --gpu-name of an assembler may have."""
        return _known_arches(self.folder / assembler)


def find_tools() -> GpuTools:
    """Raises EnvironmentFault when torch, triton or its programs are not installed."""
    missing = [name for name in ("torch", "triton") if importlib.util.find_spec(name) is None]
    if missing:
        verb = "is" if len(missing) == 1 else "are"
        raise EnvironmentFault(
            "E_PRECONDITION",
            f"{' and '.join(missing)} {verb} not installed beside mjolnir: a GPU kernel cannot be compiled here",
            INSTALL_HINT,
        )
    spec = importlib.util.find_spec("triton")
    places = list(spec.submodule_search_locations or ()) if spec is not None else []
    folder = Path(places[0] if places else ".") / "backends" / "nvidia" / "bin"
    absent = [name for name in (*ASSEMBLERS, "nvdisasm", "cuobjdump") if not (folder / name).is_file()]
    if absent:
        raise EnvironmentFault(
            "E_PRECONDITION", f"the installed triton brings no {absent[0]}: {folder} lacks it", INSTALL_HINT
        )
    found = {name: _release(folder / name) for name in ASSEMBLERS}
    return GpuTools(
        triton=importlib.metadata.version("triton"),
        torch=importlib.metadata.version("torch"),
        folder=folder,
        releases={name: release for name, (release, _) in found.items()},
        versions={name: version for name, (_, version) in found.items()},
    )


def resolve_arch(name: str, tools: GpuTools) -> GpuArch:
    """The device that `name` stands for. Raises UsageFault that names the ones that there are."""
    known = tuple(dict.fromkeys(arch for tool in ASSEMBLERS for arch in tools.known_arches(tool)))
    if name not in known:
        newest = tools.versions["ptxas-blackwell"]
        raise UsageFault(
            f"--arch {name!r}: the assembler of triton {tools.triton} (ptxas {newest}) does not know it; it knows "
            f"{', '.join(known)}",
            f"choose one whose device is known here: {', '.join(a for a in ARCHES if a in known)}",
        )
    if name not in ARCHES:
        raise UsageFault(
            f"--arch {name}: which device of it is meant (its SMs, its memory) is not known here",
            f"choose one of: {', '.join(a for a in ARCHES if a in known)}",
        )
    return ARCHES[name]


def run_tool(path: Path, words: list[str], cwd: Path | None = None) -> Finished:
    """Run one of the programs to its end, in `cwd`, with an environment that holds nothing of the user's."""
    return run([path, *words], cwd=cwd, env=_ENVIRONMENT, timeout_s=_TIME_LIMIT_S)


def _release(path: Path) -> tuple[str, str]:
    said = run_tool(path, ["--version"])
    found = _RELEASE.search(said.stdout)
    if not said.ok or found is None:
        raise EnvironmentFault("E_PRECONDITION", f"{path} does not run here", INSTALL_HINT)
    return found[1].decode(), found[2].decode()


@cache
def _known_arches(path: Path) -> tuple[str, ...]:
    names = dict.fromkeys(m.decode() for m in _ARCH.findall(run_tool(path, ["--help"]).stdout))
    return tuple(sorted(names, key=lambda name: (int("".join(c for c in name if c.isdigit())), name)))
