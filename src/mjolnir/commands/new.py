"""`mjolnir new`: a research repository to start from."""

from __future__ import annotations

from pathlib import Path

import typer
from rich.text import Text

app = typer.Typer(add_completion=False)


@app.command(epilog="Example: mjolnir new my-kernel")
def new(
    folder: Path = typer.Argument(
        ..., metavar="DIR", help="A folder that is missing or empty, outside any repository."
    ),
    target: str = typer.Option("cpu", "--target", metavar="T", help="Where the kernel runs: a target installed here."),
) -> None:
    """Make a research repository: mjolnir.toml, the starting kernel, research/program.md, .gitignore, a first commit.

    The harness stays outside it, installed.
    """
    from mjolnir.loop.scaffold import make_research_repository
    from mjolnir.render.console import notice, output
    from mjolnir.render.text import one_line

    made = make_research_repository(folder, target)
    for note in made.notes:
        notice(note)
    width = max(len(name) for name in made.files)
    lines = [f"made {one_line(str(made.root))} (branch main, commit {made.commit[:7]})"]
    lines += [f"  {name:<{width}}  {_MEANINGS.get(name, 'the kernel: what experiments change')}" for name in made.files]
    lines += ["next:", f"  cd {_quoted(folder)}", "  mjolnir doctor", "  mjolnir autoresearch init first"]
    output(Text("\n".join(lines)))


_MEANINGS = {
    "mjolnir.toml": "what is optimised and how it is judged",
    ".gitignore": "keeps the notebook of a running experiment out of commits",
    "README.md": "three lines for a reader",
    "research/program.md": "what the agent is told; yours to edit",
}


def _quoted(folder: Path) -> str:
    import shlex

    from mjolnir.render.text import one_line

    return one_line(shlex.quote(str(folder)))
