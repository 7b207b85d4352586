"""scripts/make_cli_docs.py as a module, and the command tree as it walks it."""

import importlib.util
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def load_generator():
    sys.path.insert(0, str(ROOT / "scripts"))
    spec = importlib.util.spec_from_file_location("make_cli_docs", ROOT / "scripts" / "make_cli_docs.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


GENERATOR = load_generator()
COMMANDS = dict(GENERATOR.walk_commands())
