"""Programs in the place of Triton's: they answer like ptxas, nvdisasm and cuobjdump, from texts in their folder.

What a PTX says decides: "error WORDS" is a program that the assembler refuses, anything else is assembled.
"""

import sys
from pathlib import Path

from mjolnir.targets.static_tools import GpuTools

PTXAS = """#!{python} -I
import pathlib, sys
folder = pathlib.Path(sys.argv[0]).parent
words = sys.argv[1:]
if "--version" in words:
    sys.exit(print("Cuda compilation tools, release 13.4, V13.4.59"))
if "--help" in words:
    sys.exit(print("Allowed values: 'compute_90', 'sm_75', 'sm_90a', 'sm_100a', 'sm_110a', 'sm_120a'"))
with open(folder / "calls", "a") as f:
    print(*words, file=f)
ptx = pathlib.Path("kernel.ptx").read_text()
if ptx.startswith("error"):
    print("ptxas kernel.ptx, line 24; error   : " + ptx.partition(" ")[2], file=sys.stderr)
    print("ptxas fatal   : Ptx assembly aborted due to errors", file=sys.stderr)
    sys.exit(255)
print("ptxas info    : Compiling entry function 'attend'", file=sys.stderr)
print("    32 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads", file=sys.stderr)
pathlib.Path(words[words.index("-o") + 1]).write_text("cubin")
"""
NVDISASM = """#!{python} -I
import pathlib, sys
print(pathlib.Path(sys.argv[0]).with_name("sample.sass").read_text())
"""
CUOBJDUMP = """#!{python} -I
import pathlib, sys
print(pathlib.Path(sys.argv[0]).with_name("sample.resources").read_text())
"""
RESOURCES = Path(__file__).parents[1] / "fixtures" / "sass" / "attend-fp8-sm_110a.resources"


def make_tools(folder: Path, sass: str) -> GpuTools:
    """A folder of them; `sass` is what nvdisasm prints."""
    folder.mkdir(parents=True, exist_ok=True)
    programs = {"ptxas": PTXAS, "ptxas-blackwell": PTXAS, "nvdisasm": NVDISASM, "cuobjdump": CUOBJDUMP}
    for name, text in programs.items():
        path = folder / name
        path.write_text(text.format(python=sys.executable))
        path.chmod(0o755)
    (folder / "sample.sass").write_text(sass)
    (folder / "sample.resources").write_text(RESOURCES.read_text())
    versions = dict.fromkeys(("ptxas", "ptxas-blackwell"), "13.4.59")
    return GpuTools(
        triton="3.9.0", torch="2.13.0", folder=folder, releases=dict.fromkeys(versions, "13.4"), versions=versions
    )


def assembler_calls(tools: GpuTools) -> list[str]:
    """The command lines that reached the assembler."""
    path = tools.folder / "calls"
    return path.read_text().splitlines() if path.exists() else []
