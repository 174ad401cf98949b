"""The parts of a page: sections, figures with captions, and notes."""

from __future__ import annotations

from mltune.report.markup import Markup, tag


def section(name: str, title: str, *parts: str) -> Markup:
    """Make a part of the page with its heading; the name is its anchor."""
    return tag("section", tag("h2", title, id=f"title-{name}"), *parts, id=name,
               aria_labelledby=f"title-{name}")  # fmt: skip


def figure(name: str, title: str, caption: str, *parts: str) -> Markup:
    """Make a figure: a picture or table with its heading and a caption."""
    return tag("figure", tag("h3", title), tag("figcaption", caption), *parts, id=f"figure-{name}")


def note(words: str) -> Markup:
    """Make a sentence that replaces a picture, or stands beside one."""
    return tag("p", words, class_="note")
