"""The documents are tests: what they name exists, what they show runs, and what the tool knows is in them."""

import dataclasses
import doctest
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from docs.generator import COMMANDS, GENERATOR
from mjolnir.core.model import Experiment, Rule, Status

pytest_plugins = ("doubles.fixtures",)

ROOT = Path(__file__).parents[2]
DOCS = sorted((ROOT / "docs").glob("*.md"))
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *DOCS]
PLACEHOLDERS = {"ID": "1", "N": "3", "TAG": "oct11", "DIR": "folder", "CODE": "keep", "STAGE": "sweep"}


def text_of(page):
    return page.read_text(encoding="utf-8")


def shell_lines(page):
    """Every `mjolnir ...` that a page shows: what is typed in its code blocks, and words in backticks."""
    text = text_of(page)
    typed = []
    for kind, block in re.findall(r"^```(\w*)\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        lines = block.splitlines()
        typed += [x.removeprefix("$ ") for x in lines if kind in ("", "sh") or (kind == "console" and x[:2] == "$ ")]
    prose = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    typed += re.findall(r"`([^`\n]+)`", prose)
    return [line.strip() for line in typed if line.strip().startswith("mjolnir ")]


SHOWN = sorted({(page.name, line) for page in PAGES for line in shell_lines(page)})


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_page_is_there(page):
    assert text_of(page).startswith("# ")


def test_the_readme_is_short_enough_to_be_read():
    assert len(text_of(ROOT / "README.md").splitlines()) <= 150


def test_the_command_line_page_is_what_the_command_tree_says():
    assert text_of(GENERATOR.PAGE) == GENERATOR.make_page(), f"stale: {GENERATOR.COMMAND}"


def test_a_stale_command_line_page_is_told_with_the_command_that_mends_it(monkeypatch, tmp_path, capsys):
    page = tmp_path / "cli.md"
    page.write_text("old")
    monkeypatch.setattr(GENERATOR, "PAGE", page)
    monkeypatch.setattr(sys, "argv", ["make_cli_docs.py", "--check"])
    assert GENERATOR.main() == 1
    assert "hint: python scripts/make_cli_docs.py" in capsys.readouterr().err
    assert page.read_text() == "old"


def test_a_missing_command_line_page_is_made(monkeypatch, tmp_path):
    monkeypatch.setattr(GENERATOR, "PAGE", tmp_path / "cli.md")
    monkeypatch.setattr(sys, "argv", ["make_cli_docs.py"])
    assert GENERATOR.main() == 0
    assert (tmp_path / "cli.md").read_text().startswith("# The command line")


@pytest.mark.parametrize("path", COMMANDS)
def test_every_command_and_option_has_help_and_every_command_an_example(path):
    command = COMMANDS[path]
    assert command.help
    assert "Example" in command.epilog + command.help
    assert f"{path}" in command.epilog + command.help
    lacking = [p.name for p in command.params if not p.help]
    assert not lacking


def test_no_command_offers_options_that_are_not_its_own():
    assert not [path for path, c in COMMANDS.items() if any("completion" in p.name for p in c.params)]


@pytest.mark.parametrize("path", COMMANDS)
@pytest.mark.parametrize("word", ["-h", "--help"])
def test_the_help_of_every_command_works(path, word, mjolnir):
    answer = mjolnir(*path.split()[1:], word)
    assert answer.code == 0
    assert "Usage" in answer.out


@pytest.mark.parametrize(("page", "line"), SHOWN, ids=lambda text: text)
def test_every_command_line_that_is_shown_parses(page, line):
    words = [
        PLACEHOLDERS.get(word.strip("[]"), word) for word in shlex.split(line, comments=True) if word != "[OPTIONS]"
    ]
    name, command = "mjolnir", GENERATOR.root_command()
    rest = words[1:]
    while rest and hasattr(command, "get_command") and not rest[0].startswith("-"):
        name, inner = f"{name} {rest[0]}", command.get_command(None, rest[0])
        assert inner is not None, f"{page} shows {line!r}: there is no {name}"
        command, rest = inner, rest[1:]
    if rest and not {"-h", "--help", "--version"} & set(rest):
        command.make_context(name, list(rest))


def test_every_link_between_the_pages_resolves():
    broken = []
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#\s]*)(?:#[^)\s]*)?\)", text_of(page)):
            if target and not target.startswith(("http:", "https:")) and not (page.parent / target).exists():
                broken.append(f"{page.name}: {target}")
    assert not broken


def test_every_anchor_of_a_link_is_a_heading():
    broken = []
    for page in PAGES:
        for target, anchor in re.findall(r"\]\(([^)#\s]*)#([^)\s]+)\)", text_of(page)):
            headings = re.findall(r"^#+ (.+)$", text_of(page.parent / target if target else page), re.MULTILINE)
            if anchor not in {re.sub(r"[^\w -]", "", h.lower()).replace(" ", "-") for h in headings}:
                broken.append(f"{page.name}: {target}#{anchor}")
    assert not broken


def test_every_file_that_is_named_exists():
    folders = (ROOT, ROOT / "src" / "mjolnir")
    missing = []
    for page in PAGES:
        for name in re.findall(r"`([\w./-]+\.(?:py|md|toml|json|sh))`|(?<![\w/.-])(docs/[\w-]+\.md)", text_of(page)):
            path = name[0] or name[1]
            made_in_a_run = path.startswith((".git/", "research/", "SUMMARY.md"))
            anywhere = "/" not in path and next((ROOT / "src").rglob(path), None)
            if not made_in_a_run and not anywhere and not any((f / path).exists() for f in folders):
                missing.append(f"{page.name}: {path}")
    assert not missing


def test_every_status_rule_code_and_exit_that_explain_knows_is_in_the_command_line_page():
    from mjolnir.core.catalogue import entries

    text = text_of(ROOT / "docs" / "cli.md")
    lacking = [e.code for e in entries() if f"| `{e.code}` |" not in text and f"| {e.code} |" not in text]
    assert not lacking


def test_every_integrity_code_is_in_the_integrity_page():
    from mjolnir.core.catalogue import entries

    text = text_of(ROOT / "docs" / "integrity.md")
    assert not [e.code for e in entries() if e.kind == "invalid" and f"`{e.code}`" not in text]


def test_every_status_and_rule_is_in_the_keep_rule_page_or_is_yet_to_come():
    text = text_of(ROOT / "docs" / "keep-rule.md")
    assert not [word for word in (*Status, *Rule) if f"`{word}`" not in text and word != Rule.NOT_CONFIRMED]


def test_every_key_of_a_row_is_in_the_ledger_page():
    text = text_of(ROOT / "docs" / "ledger.md")
    assert not [f.name for f in dataclasses.fields(Experiment) if f"`{f.name}`" not in text]


def test_the_example_of_the_keep_rule_page_is_true():
    result = doctest.testfile(str(ROOT / "docs" / "keep-rule.md"), module_relative=False)
    assert result.attempted > 3
    assert result.failed == 0


@pytest.fixture
def ledger_folder(tmp_path):
    """A work tree with a ledger of two rows."""
    from mjolnir.store.ledger import start_ledger

    (tmp_path / ".git").mkdir()
    ledger = start_ledger(tmp_path, tmp_path / ".git", tag="oct11")
    for hypothesis in ("the starting kernel", "a tile [/=] \t\x00"):
        ledger.append(Experiment(id=0, ts="2025-10-11T12:00:00+00:00", status=Status.BASELINE, hypothesis=hypothesis))
    return tmp_path


def run_ledger_check(folder):
    [program] = re.findall(r"^```python\n(.*?)^```", text_of(ROOT / "docs" / "ledger.md"), re.MULTILINE | re.DOTALL)
    return subprocess.run([sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, check=False)


def test_the_ledger_check_of_the_ledger_page_accepts_a_real_ledger(ledger_folder):
    assert run_ledger_check(ledger_folder).stderr == ""


def test_the_ledger_check_of_the_ledger_page_finds_an_edited_row(ledger_folder):
    path = ledger_folder / "research" / "ledger.jsonl"
    path.write_text(path.read_text().replace("starting", "fastest"))
    assert "row 1 was edited" in run_ledger_check(ledger_folder).stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_page_shows_a_path_of_one_machine_or_words_of_advertisement(page):
    text = text_of(page).lower()
    words = r"/work/|/root/|/home/\w|blazing|seamless|powerful|robust|effortless|cutting-edge|world-class"
    assert not re.findall(words, text)
