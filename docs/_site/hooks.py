"""What the site holds beside docs/: pages from parsers, docstrings and the repository's files.

A link to a file outside of docs/ leads to a page that shows the file, so that the site stands
alone.
"""

from __future__ import annotations

import argparse
import os
import posixpath
import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from mltune.cli.main import VERBS, parser_of  # noqa: E402 - the repository's, not another one

PAGES = (
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "SECURITY.md",
    "spaces/README.md",
    "spaces/sizes/README.md",
    "models/README.md",
    "runs/README.md",
)
LANGUAGES = {".cl": "c", ".cff": "yaml", ".csv": "text", ".json": "json", ".py": "python"}
SEARCH_BOOST = {"faq.md": 8, "tutorial.md": 2, "CHANGELOG.md": 0.2, "CONTRIBUTING.md": 0.5}
"""How much more, or less, a page counts when somebody searches."""
MAX_SHOWN = 40_000
_LINK = re.compile(r"(!?\[(?:[^\[\]]|\[[^\]]*\])*\]\()(?!https?:|mailto:|#)([^)#\s]+)(#[^)]*)?\)")


def on_post_page(output: str, page: Any, **_: Any) -> str:
    """Load no script from elsewhere: assets/offline-search.js does its work."""
    ours = posixpath.relpath("assets/offline-search.js", posixpath.dirname(page.url) or ".")
    tag = f'<script src="{ours}"></script>'
    return re.sub(r'<script src="https://unpkg\.com/[^"]*"></script>', tag, output)


def on_post_template(output_content: str, template_name: str, **_: Any) -> str:
    """Write no page for what is not found: its links go by the server's root."""
    return "" if template_name == "404.html" else output_content


def on_files(files: Files, config: Any) -> Files:
    """Add what is generated."""
    add = {page: (ROOT / page).read_text(encoding="utf-8") for page in PAGES}
    add["reference/commands.md"] = commands_page()
    add["reference/python.md"] = python_page()
    add["assets/offline-search.js"] = (Path(__file__).parent / "offline-search.js").read_text()
    for path in sorted(_linked_sources(files)):
        add[_source_page(path)] = source_page(path)
    for name, text in add.items():
        if name not in {file.src_uri for file in files}:
            files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Let links to the repository's files lead to their pages here."""
    here = page.file.src_uri
    page.meta.setdefault("search", {}).setdefault("boost", SEARCH_BOOST.get(here, 1))
    folder = ROOT if here in PAGES else ROOT / "docs"

    def there(match: re.Match[str]) -> str:
        target = _site_path((folder / posixpath.dirname(here) / match[2]).resolve())
        to = posixpath.relpath(target, posixpath.dirname(here) or ".")
        return f"{match[1]}{to}{match[3] or ''})"

    return _LINK.sub(there, markdown)


def _site_path(path: Path) -> str:
    """Where a file of the repository stands on the site."""
    name = os.path.relpath(path, ROOT)
    if name.startswith("docs/"):
        return name.removeprefix("docs/")
    if name == "README.md":
        return "README.md"
    return name if name in PAGES else _source_page(name)


def _source_page(name: str) -> str:
    return f"source/{name}.md"


def _linked_sources(files: Files) -> set[str]:
    """Files outside of docs/ that a page links to."""
    texts = [
        (ROOT / "docs", file.content_string) for file in files if file.is_documentation_page()
    ]
    found = {
        os.path.relpath((folder / match[2]).resolve(), ROOT)
        for folder, text in texts
        for match in _LINK.finditer(text)
    }
    found |= {
        os.path.relpath((ROOT / page).parent / match[2], ROOT)
        for page in PAGES
        for match in _LINK.finditer((ROOT / page).read_text(encoding="utf-8"))
    }
    return {
        os.path.normpath(name)
        for name in found
        if not os.path.normpath(name).startswith("docs/")
        and os.path.normpath(name) not in {*PAGES, "README.md"}
    }


def source_page(name: str) -> str:
    """A page that shows a file, or names what a folder holds."""
    path = ROOT / name
    head = f"---\nsearch:\n  exclude: true\n---\n\n# {name}\n\n"
    if path.is_dir():
        return head + "".join(f"- `{one.name}`\n" for one in sorted(path.iterdir()))
    text = path.read_text(encoding="utf-8")
    if len(text) > MAX_SHOWN:
        return head + f"{len(text):,} characters: in the repository.\n"
    return f"{head}````{LANGUAGES.get(path.suffix, 'text')}\n{text}\n````\n"


def commands_page() -> str:
    """Every verb with its options, from the parsers."""
    parts = [
        "# Commands\n\nMade from the parsers: what `mltune VERB --help` prints. Every verb also "
        "has `--json` (one JSON document on stdout), `-q` and `-v`.\n\nExit codes: 0 done, "
        "1 failed, 2 wrong usage, 3 no config was right, 4 no usable device, 130 interrupted.\n"
    ]
    for verb, summary in VERBS.items():
        parser = parser_of(verb)
        example = (parser.epilog or "").partition("example: ")[2]
        parts.append(f"## {verb}\n\n{summary[0].upper()}{summary[1:]}.\n\n```sh\n{example}\n```\n")
        parts.append("| option | meaning |\n|---|---|")
        rows = [_option(one) for one in parser._actions if one.dest not in {"help", "json"}]
        parts.append("\n".join(row for row in rows if row) + "\n")
    return "\n".join(parts)


def _option(action: argparse.Action) -> str:
    if action.dest in {"quiet", "verbose"} or action.help == argparse.SUPPRESS:
        return ""
    names = ", ".join(action.option_strings) or str(action.metavar or action.dest)
    value = f" {action.metavar}" if action.option_strings and action.metavar else ""
    text = (action.help or "").replace("%%", "%").replace("|", "\\|").replace("<", "&lt;")
    text = re.sub(r"[*\[]", r"\\\g<0>", text)  # neither emphasis nor a link
    return f"| `{names}{value}` | {text} |"


def python_page() -> str:
    """The public interface, from its docstrings."""
    names = (
        "mltune.load",
        "mltune.workflow.python.tune",
        "mltune.workflow.python.search",
        "mltune.workflow.objective.Objective",
        "mltune.workflow.tuned_study.create_study",
        "mltune.workflow.python.train",
        "mltune.workflow.python.distil",
        "mltune.workflow.python.export",
        "mltune.workflow.python.report",
        "mltune.search.guided.GuidedSampler",
        "mltune.runtime.TunedGemm",
        "mltune.runtime.TunedSet",
        "mltune.selector.Selector",
        "mltune.run.run.Run",
        "mltune.tuning.search_options.SearchOptions",
        "mltune.errors",
    )
    head = (
        "# Python\n\nMade from the docstrings. `mltune.tune`, `mltune.search`, "
        "`mltune.Objective`, `mltune.create_study`, `mltune.train`, `mltune.distil`, "
        "`mltune.export`, `mltune.report`, `mltune.load` and `mltune.GuidedSampler` are names of "
        "`mltune` itself; "
        "[how they go together](../optuna.md).\n\n"
    )
    return head + "\n".join(f"::: {name}\n" for name in names)
