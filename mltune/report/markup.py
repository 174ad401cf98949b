"""HTML that cannot be injected into: every text is escaped unless it was built here."""

from __future__ import annotations

import html
import json
from typing import Any

Attribute = str | int | float | None

_VOID = frozenset({"meta", "input", "br", "line", "circle", "rect", "path", "stop", "polyline"})


class Markup(str):
    """Text that is HTML already; any other text is escaped when it becomes part of one."""

    __slots__ = ()


def tag(name: str, /, *children: str, **attributes: Attribute) -> Markup:
    """Build an element.

    Args:
        name: of the element.
        children: what it holds; text that is no `Markup` is escaped.
        attributes: `_` stands for `-` (and a last one is dropped: `class_`); None leaves one out.
    """
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{html.escape(_attribute(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _VOID and not children:
        return Markup(f"<{name}{written}/>")
    return Markup(f"<{name}{written}>{join(*children)}</{name}>")


def join(*parts: str) -> Markup:
    """Put parts one after the other; those that are no `Markup` are escaped."""
    return Markup(
        "".join(part if isinstance(part, Markup) else html.escape(visible(part)) for part in parts)
    )


def embed_json(data: Any) -> Markup:
    """Write data for a script element: no text in it can end the element or begin another."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)  # json.dumps writes ASCII, so that line separators are escaped too


def visible(text: str) -> str:
    """Show what a browser would drop or refuse: control characters and lone surrogates."""
    return "".join(
        character
        if character in "\n\t" or character.isprintable()
        else "\N{REPLACEMENT CHARACTER}"
        for character in text
    )


def _attribute(value: Attribute) -> str:
    if isinstance(value, float):
        return f"{value:.1f}".removesuffix(".0")
    return visible(str(value))
