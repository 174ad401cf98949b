"""The documentation site builds without a warning, and all its links work.

It needs the extra `docs`, which the gate has.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

pytest.importorskip("mkdocs")
pytest.importorskip("material")
pytest.importorskip("mkdocstrings")

ROOT = Path(__file__).parents[2]
MAX_WORDS = 20_000
MAX_FIRST_WORDS = 1_150
"""The most words of the first page and its ten answers, with code: five minutes at 230 words a
minute.
"""
REFERENCE = {"parameters.md", "tensile-parameters.md", "experiment-2-h200.md"}
"""Pages that are not counted: generated tables, and tables with all rows of a measurement."""


class _Page(HTMLParser):
    """The links, the loaded files and the anchors of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = {""}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value for name, value in attrs if value is not None}
        self.anchors.update(values[name] for name in ("id", "name") if name in values)
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        self.loaded += [values[name] for name in ("src",) if name in values]
        if tag == "link" and values.get("rel") != "canonical" and "href" in values:
            self.loaded.append(values["href"])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "-d", str(folder)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
    )
    assert built.returncode == 0, built.stderr
    assert "WARNING" not in built.stderr
    return folder


@cache
def _page(path: Path) -> _Page:
    return _Page(path.read_text(encoding="utf-8"))


def _broken(path: Path, link: str) -> bool:
    parts = urlsplit(link)
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if target.is_dir():
        target /= "index.html"
    if not target.exists():
        return True
    return target.suffix == ".html" and unquote(parts.fragment) not in _page(target).anchors


@pytest.mark.long
def test_every_link_leads_somewhere(site: Path) -> None:
    broken = [
        (page.name, link)
        for page in site.rglob("*.html")
        for link in (*_page(page).links, *_page(page).loaded)
        if not urlsplit(link).scheme and _broken(page, link)
    ]

    assert broken == []


@pytest.mark.long
def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    loaded = {link for page in site.rglob("*.html") for link in _page(page).loaded}

    assert [link for link in loaded if urlsplit(link).scheme not in {"", "data"}] == []


@pytest.mark.long
def test_the_reference_has_every_verb_and_the_python_interface(site: Path) -> None:
    from mltune.cli.main import VERBS

    commands = (site / "reference" / "commands.html").read_text(encoding="utf-8")
    python = (site / "reference" / "python.html").read_text(encoding="utf-8")

    assert [verb for verb in VERBS if f'<h2 id="{verb}">' not in commands] == []
    assert "Load selectors, ready to choose and to launch kernels." in python


def _words(page: Path) -> int:
    """The number of words in text and tables, without code."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    return len(re.findall(r"\S*\w\S*", text))


def test_the_pages_are_short() -> None:
    words = {page.name: _words(page) for page in ROOT.glob("docs/*.md")}

    assert sum(words[name] for name in set(words) - REFERENCE) <= MAX_WORDS, words


def test_the_first_page_leads_to_ten_short_answers() -> None:
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8").partition("## All pages")[0]
    sections = (ROOT / "docs" / "faq.md").read_text(encoding="utf-8").split("\n## ")
    anchors = {re.sub(r"[^\w ]", "", one.split("\n")[0]).lower().replace(" ", "-"): one
               for one in sections}  # fmt: skip

    asked = re.findall(r"\(faq\.md#([\w-]+)\)", index)
    assert len(asked) == 10
    assert asked == list(anchors)[1:11]
    shown = re.sub(r"\]\([^)]*\)", "]", "\n".join([index, *(anchors[one] for one in asked)]))
    assert len(re.findall(r"\S*\w\S*", shown)) <= MAX_FIRST_WORDS
