"""What mkdocs needs beside docs/: pages of other folders, the page of commands, links that leave the site."""

from __future__ import annotations

import argparse
import os
import re
import sys
from pathlib import Path, PurePosixPath
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
ELSEWHERE = {
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "models/README.md": "packs.md",
    "runs/README.md": "runs.md",
    "spaces/README.md": "spaces.md",
    "spaces/sizes/README.md": "sizes.md",
}
"""Pages of the repository that the site has, too, and their names there."""
TITLES = {"packs.md": "Packs that ship", "runs.md": "Runs that ship"}

_PLACES = {name: path for path, name in ELSEWHERE.items()}
_LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\]]*\])*)\]\((?!https?:|#|mailto:)([^)#\s]+)(#[^)\s]*)?\)")


def on_files(files: Files, config: Any, **_: Any) -> Files:
    """Add the pages that lie outside of docs/, and the one that is made from the parsers."""
    for path, name in ELSEWHERE.items():
        text = (ROOT / path).read_text(encoding="utf-8")
        files.append(File.generated(config, name, content=text))
    files.append(File.generated(config, "commands.md", content=commands()))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Lead links to other pages of the site; name files that only the repository has."""
    source = PurePosixPath(_PLACES.get(page.file.src_uri, f"docs/{page.file.src_uri}"))

    def lead(match: re.Match[str]) -> str:
        text, target, anchor = match[1], match[2], match[3] or ""
        path = os.path.normpath(source.parent / target)
        if path in ("README.md", "docs/README.md", "docs"):
            return f"[{text}](index.md)"
        if path in ELSEWHERE or f"{path}/README.md" in ELSEWHERE:
            name = ELSEWHERE.get(path) or ELSEWHERE[f"{path}/README.md"]
            return f"[{text}]({name}{anchor})"
        if path.startswith("docs/"):
            return f"[{text}]({path.removeprefix('docs/')}{anchor})"
        return text if path in text else f"{text} (`{path}`)"

    markdown = _outside_code(markdown, lambda part: _LINK.sub(lead, part))
    return markdown.replace("<details>", '<details markdown="1">')


def _outside_code(markdown: str, change: Any) -> str:
    parts = re.split(r"(^```.*?^```$)", markdown, flags=re.M | re.S)
    return "".join(part if part.startswith("```") else change(part) for part in parts)


def commands() -> str:
    """The page of the command line, from the parsers themselves."""
    sys.path.insert(0, str(ROOT))
    from mltune.cli.main import VERBS, parser_of

    parts = [
        "# Command line\n",
        "Every verb takes `--json` (one JSON document on stdout), `-q` (say less), `-v` (say more) and `--help`.\n",
        "| exit code | means |\n|---|---|",
        "| 0 | done |\n| 1 | failed |\n| 2 | wrong usage: one line says where, which rule, what it got |",
        "| 3 | no config was right |\n| 4 | no usable device |\n| 130 | interrupted: the state is saved |\n",
    ]
    for verb, summary in VERBS.items():
        parser = parser_of(verb)
        parser.prog = f"mltune {verb}"
        parts += [f"## {verb}\n", f"{summary[0].upper()}{summary[1:]}.\n"]
        parts += [f"```console\n$ {str(parser.epilog).removeprefix('example: ')}\n```\n"]
        for group in parser._action_groups:
            actions = [one for one in group._group_actions if one.dest not in _EVERYWHERE]
            if actions:
                parts += [f"| {group.title} | |\n|---|---|", *map(_row, actions), ""]
    return "\n".join(parts)


_EVERYWHERE = ("help", "json", "quiet", "verbose")


def _row(action: argparse.Action) -> str:
    value = action.metavar if isinstance(action.metavar, str) else action.dest.upper()
    takes = "" if action.nargs == 0 or not action.option_strings else f" {value}"
    name = ", ".join(action.option_strings) + takes if action.option_strings else value
    text = (action.help or "").replace("%%", "%").replace("|", "\\|")
    return f"| `{name}` | {re.sub(r'([*_<\[])', r'\\\1', text) if '`' not in text else text} |"
