"""Where the command starts: a Ctrl-C while the rest is still being imported is answered like any other."""

from __future__ import annotations

import sys


def main() -> None:
    """Import the command tree and run it."""
    try:
        from mjolnir.cli import main as run
    except KeyboardInterrupt:
        if "--json" in sys.argv:
            error = '{"code": "E_INTERRUPTED", "message": "interrupted", "hint": "run the command again"}'
            sys.stdout.write(f'{{"schema": "mjolnir.error/1", "error": {error}}}\n')
        sys.stderr.write("error: interrupted\nhint: nothing was recorded; run the command again\n")
        raise SystemExit(130) from None
    run()
