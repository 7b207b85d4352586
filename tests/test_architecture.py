"""The import contract fails when it is broken on purpose, files stay short, and light commands start light."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"

BREACHES = {
    "core imports numpy": ("core/judge.py", "import numpy"),
    "core reaches up": ("core/judge.py", "import mjolnir.store.ledger"),
    "store knows render": ("store/ledger.py", "import mjolnir.render.console"),
    "render knows store": ("render/console.py", "import mjolnir.store.ledger"),
    "targets know store": ("targets/cpu.py", "import mjolnir.store.ledger"),
    "a layer reaches up": ("process.py", "import mjolnir.loop.evaluate"),
    "the host imports the worker": ("targets/cpu.py", "import mjolnir.worker.serve"),
    "the host imports a kernel": ("loop/evaluate.py", "import mjolnir_kernel.cpu_decode"),
    "the host imports numba": ("oracle/check.py", "import numba"),
    "a second file starts processes": ("store/git.py", "import subprocess"),
    "a chart in the loop": ("loop/evaluate.py", "import matplotlib"),
    "rich in the store": ("store/ledger.py", "import rich"),
}


def lint_imports(folder):
    """The import contract of the repository over a copy of its sources."""
    shutil.copy(ROOT / "pyproject.toml", folder)
    program = "import sys; sys.path.insert(0, 'src'); from importlinter.cli import lint_imports_command; "
    program += "lint_imports_command(['--no-cache'])"
    return subprocess.run([sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def copied_source(tmp_path_factory):
    folder = tmp_path_factory.mktemp("contract")
    shutil.copytree(SOURCE, folder / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    return folder


def test_the_import_contract_holds(copied_source):
    result = lint_imports(copied_source)
    assert result.returncode == 0, result.stdout


@pytest.mark.parametrize("name", BREACHES)
def test_the_import_contract_breaks_when(name, copied_source):
    place, line = BREACHES[name]
    path = copied_source / "src" / "mjolnir" / place
    honest = path.read_text()
    path.write_text(honest + f"\n{line}\n")
    try:
        result = lint_imports(copied_source)
    finally:
        path.write_text(honest)
    assert result.returncode == 1, result.stdout
    assert "BROKEN" in result.stdout


@pytest.mark.parametrize("folder", ["src", "tests"])
def test_a_file_is_short_enough_to_read_whole(folder):
    lengths = {p: len(p.read_text().splitlines()) for p in (ROOT / folder).rglob("*.py")}
    assert {str(p): n for p, n in lengths.items() if n > 250} == {}


HEAVY = {"numpy", "matplotlib", "ml_dtypes", "numba", "torch", "triton", "pydantic"}


@pytest.mark.parametrize(
    "words",
    [["--help"], ["autoresearch", "--help"], ["autoresearch", "status", "--help"], ["explain", "keep"]],
    ids=" ".join,
)
def test_a_light_command_imports_nothing_heavy(words):
    program = (
        "import sys\nfrom mjolnir.cli import main\n"
        f"try:\n    main({words!r})\nexcept SystemExit:\n    pass\n"
        f"print('HEAVY', sorted({HEAVY!r} & set(sys.modules)))\n"
    )
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert out.endswith("HEAVY []\n")
