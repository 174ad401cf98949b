"""HTML that is safe against injection: every text is escaped unless it was built here."""

from __future__ import annotations

import html
import json
from typing import Any

Attribute = str | int | float | None

_VOID = frozenset({"meta", "input", "br", "line", "circle", "rect", "path", "stop", "polyline"})


class Markup(str):
    """Text that is already HTML; any other text is escaped when it becomes part of HTML."""

    __slots__ = ()


def tag(name: str, /, *children: str, **attributes: Attribute) -> Markup:
    """Build an element.

    Args:
        name: of the element.
        children: its content; text that is no `Markup` is escaped.
        attributes: `_` stands for `-`, a trailing `_` is dropped (`class_`), and None leaves an
            attribute out.
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
    """Concatenate parts; those that are no `Markup` are escaped."""
    return Markup(
        "".join(part if isinstance(part, Markup) else html.escape(visible(part)) for part in parts)
    )


def embed_json(data: Any) -> Markup:
    """Write data for a script element; no text in it can end the element or begin another."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)  # json.dumps writes ASCII only, so line separators are escaped, too


def visible(text: str) -> str:
    """Replace what a browser drops or refuses: control characters and lone surrogates."""
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
