"""Code blocks of README and docs: their commands are parsed and their data are read.

tests/test_readme.py runs the Python blocks, the gate README's two `sh` blocks.
"""

from __future__ import annotations

import csv
import io
import json
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from mltune.cli import main

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("docs/*.md")))
BENCHMARKS = ROOT / "tests" / "benchmarks"

_SCRIPT = re.compile(r"(?:tests/benchmarks/(\w+)\.py|-m tests\.benchmarks\.(\w+))(.*)")


def _blocks(language: str) -> list[tuple[str, str]]:
    fence = re.compile(rf"^```{language}\n(.*?)^```", re.M | re.S)
    return [(page.name, block) for page in PAGES for block in fence.findall(page.read_text())]


def _shell_lines() -> list[str]:
    """The lines of all shell blocks, and the typed lines of console blocks."""
    typed = [line[2:] for _, block in _blocks("console") for line in block.splitlines()
             if line.startswith("$ ")]  # fmt: skip
    blocks = [block.replace("\\\n", " ") for _, block in _blocks("sh")]
    return [*typed, *(line for block in blocks for line in block.splitlines())]


def _script_calls() -> list[str]:
    """Every call of a benchmark, in blocks and in sentences."""
    fence = re.compile(r"^```.*?^```", re.M | re.S)
    texts = [fence.sub("", page.read_text()).replace("\n", " ") for page in PAGES]
    said = [
        found for text in texts for found in re.findall(r"`([^`]*tests[/.]benchmarks[^`]*)`", text)
    ]
    return sorted({*(line for line in _shell_lines() if "benchmarks" in line), *said})


def test_every_block_says_what_it_is() -> None:
    fences = {line for page in PAGES for line in re.findall(r"^```\w*", page.read_text(), re.M)}

    assert fences <= {
        "```",
        *(
            f"```{name}"
            for name in ("c", "console", "csv", "json", "python", "sh", "text", "yaml")
        ),
    }


@pytest.mark.parametrize(("page", "block"), _blocks("sh"))
def test_a_shell_block_is_shell(page: str, block: str) -> None:
    done = subprocess.run(["bash", "-n"], input=block, capture_output=True, text=True)

    assert done.returncode == 0, f"{page}: {done.stderr}"


def _typed_commands() -> list[str]:
    """Every call of mltune in a shell line, including those started by ssh or a scheduler."""
    called = re.compile(r"(?:^|[\s/])mltune (?=[a-z]).*?(?= &&| > | >\w|$)")
    found = [one for line in _shell_lines() for one in called.findall(line.partition(" #")[0])]
    return sorted({one.strip().removeprefix("/") for one in found})


@pytest.mark.parametrize("line", _typed_commands())
def test_a_command_of_a_shell_block_is_understood(
    line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = shlex.split(line)[1:]
    end = words.index("--") if "--" in words else len(words)
    with pytest.raises(SystemExit) as ending:
        main([*words[:end], "--help", *words[end:]])

    assert ending.value.code == 0
    assert capsys.readouterr().out.startswith(f"usage: mltune {words[0]}")


@pytest.mark.parametrize("call", _script_calls())
def test_a_benchmark_that_is_named_is_there_and_has_its_options(call: str) -> None:
    found = _SCRIPT.search(call)
    if found is None:  # the folder
        assert BENCHMARKS.is_dir()
        return
    script = BENCHMARKS / f"{found[1] or found[2]}.py"
    text = script.read_text(encoding="utf-8")
    shared = re.findall(r"from tests\.benchmarks\.(\w+) import", text)
    texts = "".join([text, *((BENCHMARKS / f"{name}.py").read_text("utf-8") for name in shared)])

    assert [one for one in re.findall(r"--[a-z-]+", found[3]) if f'"{one}"' not in texts] == []


def test_data_in_blocks_can_be_read() -> None:
    for _, block in _blocks("json"):
        json.loads(block)
    for _, block in _blocks("csv"):
        head, *rows = csv.reader(io.StringIO(block))
        assert {len(row) for row in rows} == {len(head)}
