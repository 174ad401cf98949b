"""The commands of README and docs are those that there are, and their links lead somewhere."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from mltune.cli.main import VERBS, main

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
DOCS = sorted(ROOT.glob("docs/*.md"))
PAGES = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *DOCS)


def _commands(text: str) -> tuple[str, ...]:
    found = re.finditer(r"^\$ mltune (.*)", text, re.M)
    return tuple(match[1].partition("  #")[0].strip() for match in found)


COMMANDS = _commands(TEXT)
DOCUMENTED = sorted({line for page in DOCS for line in _commands(page.read_text("utf-8"))})


@pytest.mark.parametrize("command", [*COMMANDS, *DOCUMENTED])
def test_a_command_is_understood(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    # With --help at its end a command is read from the left and then not run.
    with pytest.raises(SystemExit) as ending:
        main([*shlex.split(command), "--help"])

    assert ending.value.code == 0
    assert capsys.readouterr().out.startswith(f"usage: mltune {command.split()[0]} ")


def test_the_chain_is_shown_in_order() -> None:
    chain = ["search", "train", "predict", "distil", "export"]

    shown = list(dict.fromkeys(command.split()[0] for command in COMMANDS))

    assert set(shown) <= set(VERBS)
    assert [verb for verb in shown if verb in chain] == chain


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_that_a_page_links_to_are_there(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text(encoding="utf-8"))

    assert [link for link in links if not (page.parent / link).exists()] == []


def test_the_index_of_the_docs_has_every_page() -> None:
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")

    assert [page.name for page in DOCS if f"({page.name})" not in index] == ["README.md"]
