#!/usr/bin/env python3
"""Writes docs/cli.md from the command tree: every command with its help, options, exit codes and JSON shape.

    python scripts/make_cli_docs.py            writes docs/cli.md
    python scripts/make_cli_docs.py --check    exits 1 when docs/cli.md is not what the tree says

Help, options and examples come from the commands themselves. What no option can tell, exit codes and the JSON answer,
stands in cli_answers.py; a command without an entry there is an error.
"""

from __future__ import annotations

import argparse
import inspect
import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from cli_answers import ANSWERS, CONFIG_KEYS

PAGE = Path(__file__).resolve().parents[1] / "docs" / "cli.md"
COMMAND = "python scripts/make_cli_docs.py"

INTRODUCTION = f"""# The command line

<!-- Made by `{COMMAND}`. Do not edit: change the help of the command and make it again. -->

`-h` and `--help` work everywhere. Answers go to stdout; errors, notes and progress go to stderr. With `--json` stdout
holds exactly one JSON object and nothing else.

## Exit codes

| code | means |
|--:|---|
| 0 | done, whatever the verdict |
| 1 | a verification found failures |
| 2 | no row was written: this machine lacks something, `mjolnir.toml` cannot be read, or the command line is wrong |
| 4 | refused because of the state of repository, ledger or frozen configuration; no row was written |
| 130 | interrupted (Ctrl-C, SIGTERM); no process, lock or half row stays behind |

Most commands can end with 0, 2, 4 and 130. Below stands what is particular to one.

An error is two lines on stderr, and with `--json` also an object on stdout, beside whatever else is known:

```
error: what happened, and where
hint: what to type
```

```json
{{"schema": "mjolnir.<command>/1", "error": {{"code": "E_...", "message": "...", "hint": "..."}}}}
```

`mjolnir explain CODE` says more about a code.

## Commands
"""


KINDS: Mapping[str, str] = {
    "status": "Statuses of a row",
    "rule": "Rules: the clause that decided",
    "invalid": "Integrity codes of a row with status invalid",
    "refusal": "Refusals (exit 4, no row)",
    "finding": "Findings of `audit` (exit 1); it also uses codes of refusals",
    "environment": "Faults (exit 2, no row)",
}


def main() -> int:
    parser = argparse.ArgumentParser(description="Write docs/cli.md from the command tree.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when docs/cli.md is stale")
    args = parser.parse_args()
    wanted = make_page()
    found = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    if wanted == found:
        return 0
    if args.check:
        print(f"error: docs/cli.md is not what the command tree says\nhint: {COMMAND}", file=sys.stderr)
        return 1
    PAGE.write_text(wanted, encoding="utf-8")
    print("wrote docs/cli.md")
    return 0


def make_page() -> str:
    """The whole text of docs/cli.md."""
    commands = dict(walk_commands())
    if commands.keys() != ANSWERS.keys():
        odd = ", ".join(sorted(commands.keys() ^ ANSWERS.keys()))
        raise SystemExit(f"error: ANSWERS and the command tree differ at: {odd}\nhint: mend scripts/cli_answers.py")
    table = ["| command | does |", "|---|---|"]
    table += [f"| [`{path}`](#{_anchor(path)}) | {_first_sentence(c.help)} |" for path, c in commands.items()]
    sections = [_section(path, command) for path, command in commands.items()]
    return "\n".join([INTRODUCTION, *table, "", *sections, *_config(), *_words()]).rstrip() + "\n"


def walk_commands() -> Iterator[tuple[str, Any]]:
    """(full name, command) of every command that does something, in the order of `--help`."""
    yield from _walk("mjolnir", root_command())


def root_command() -> Any:
    """The group `mjolnir` itself."""
    from typer.main import get_command

    from mjolnir.cli import app

    return get_command(app)


def _walk(path: str, group: Any) -> Iterator[tuple[str, Any]]:
    for name in group.list_commands(None):
        command = group.get_command(None, name)
        if command is None or command.hidden:
            continue
        inner = f"{path} {name}"
        if hasattr(command, "list_commands"):
            yield from _walk(inner, command)
        else:
            yield inner, command


def _section(path: str, command: Any) -> str:
    answer = ANSWERS[path]
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    options = [p for p in command.params if p.param_type_name == "option" and not p.hidden and "--help" not in p.opts]
    usage = " ".join([path, *(["[OPTIONS]"] if options else []), *map(_argument_name, arguments)])
    lines = [f"### {path}", "", f"`{usage}`", "", _text(command.help), ""]
    if arguments:
        lines += ["| argument | means |", "|---|---|"]
        lines += [f"| `{_argument_name(p)}` | {_cell(_text(p.help or ''))} |" for p in arguments] + [""]
    if options:
        lines += ["| option | default | means |", "|---|---|---|"]
        lines += [f"| {_option_name(p)} | {_default(p)} | {_cell(_text(p.help or ''))} |" for p in options] + [""]
    if command.epilog:
        lines += ["```", _text(command.epilog).removeprefix("Example: ").removeprefix("Examples: "), "```", ""]
    if answer.notes:
        lines += [answer.notes, ""]
    if answer.codes:
        lines += ["| exit | when |", "|--:|---|", *(f"| {c} | {_cell(w)} |" for c, w in answer.codes.items()), ""]
    if answer.json:
        lines += ["`--json`:", "", "```", inspect.cleandoc(answer.json), "```", ""]
    return "\n".join(lines)


def _config() -> Iterator[str]:
    """The keys of mjolnir.toml with their defaults, from config.py."""
    from mjolnir.config import CONFIG_NAME, JUDGING_SECTIONS, TARGET_DEFAULTS, Config
    from mjolnir.config_rules import value_rules

    config = Config()
    wanted = {key.replace("targets.cpu.", "targets.NAME."): text for key, _, text in value_rules(config)}
    sections = {f.name: getattr(config, f.name) for f in fields(config)} | {"targets": TARGET_DEFAULTS["cpu"]}
    defaults = {
        f"targets.NAME.{f.name}" if name == "targets" else f"{name}.{f.name}": getattr(section, f.name)
        for name, section in sections.items()
        for f in fields(section)
    }
    frozen = ", ".join(f"[{name}]" for name in JUDGING_SECTIONS)
    yield f"## {CONFIG_NAME}\n\nAn unknown key, a wrong type or a value that makes no sense is an error that names the"
    yield f"key. {frozen} are frozen at `init`: a later change needs a new run.\n"
    yield "| key | default (cpu) | means | must be |\n|---|---|---|---|"
    for key, text in CONFIG_KEYS.items():
        yield f"| `{key}` | `{_toml(defaults.pop(key))}` | {_cell(text)} | {_cell(wanted.get(key, ''))} |"
    yield f"\nAccepted, for targets and commands that come later: {', '.join(f'`{key}`' for key in defaults)}.\n"


def _toml(value: Any) -> str:
    return json.dumps(list(value) if isinstance(value, tuple) else value)


def _words() -> Iterator[str]:
    """The catalogue behind `mjolnir explain`, one table a kind."""
    from mjolnir.core.catalogue import entries

    yield "## Statuses, rules and codes"
    yield "\nWhat `mjolnir explain` knows. Exit codes stand at the top of this page."
    kind = ""
    for entry in entries():
        if entry.kind == "exit":
            continue
        if entry.kind != kind:
            kind = entry.kind
            yield f"\n### {KINDS[kind]}\n\n| word | means | what to do |\n|---|---|---|"
        yield f"| `{entry.code}` | {_cell(entry.meaning)} | {_cell(entry.mend)} |"


def _argument_name(parameter: Any) -> str:
    name = (parameter.metavar or parameter.name).upper().strip("[]")
    return name if parameter.required else f"[{name}]"


def _option_name(parameter: Any) -> str:
    names = ", ".join(f"`{name}`" for name in sorted(parameter.opts, key=len))
    if parameter.secondary_opts:
        return f"{names} / {', '.join(f'`{name}`' for name in parameter.secondary_opts)}"
    if not parameter.is_flag and not parameter.metavar:
        raise SystemExit(f"error: {names} has no word for its value\nhint: give the option a metavar")
    return names if parameter.is_flag else f"{names} {_cell(parameter.metavar)}"


def _default(parameter: Any) -> str:
    if parameter.required:
        return "required"
    value = parameter.default
    if value is None or value == "" or value is False or callable(value):
        return ""
    if value is True:
        return f"`{parameter.opts[0]}`" if parameter.secondary_opts else ""
    return f"`{value}`"


def _text(text: str | None) -> str:
    """Help as the author wrote it, without typer's marks and the indentation of a docstring."""
    return inspect.cleandoc(text or "").replace("\b\n", "").replace("\f", "").strip()


def _first_sentence(text: str | None) -> str:
    return _cell(_text(text).partition("\n\n")[0].replace("\n", " "))


def _cell(text: str) -> str:
    return text.replace("\n", " ").replace("|", "\\|")


def _anchor(path: str) -> str:
    return path.replace(" ", "-")


if __name__ == "__main__":
    raise SystemExit(main())
