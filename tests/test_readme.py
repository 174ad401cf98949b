"""The README's commands are those that the command line has."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from mltune.cli.main import VERBS, main

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = tuple(
    match[1].partition("  #")[0].strip() for match in re.finditer(r"^\$ mltune (.*)", TEXT, re.M)
)


@pytest.mark.parametrize("command", COMMANDS)
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


def test_files_that_it_links_to_are_there() -> None:
    links = re.findall(r"\]\((?!https?:|#)([^)#]+)", TEXT)

    assert [link for link in links if not (ROOT / link).exists()] == []
