"""Kernel sources from templates: the Jinja2 files `*.cl` in the families' folders.

A template is OpenCL C with `{% if %}` where variants of a kernel differ. Numbers are macros, so
that the code of all configs reads alike; a source defines those that it uses.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

Definition = tuple[str, int | str]
"""A macro's name, with what stands in brackets behind it, and its value."""

_FOLDER = Path(__file__).parent
_MACRO = re.compile(r"[A-Z][A-Z0-9_]+")


@dataclass(frozen=True, slots=True)
class Section:
    """Macros that belong together.

    Attributes:
        about: what they are, for a reader of the source.
        definitions: in the order in which they are written.
    """

    about: str
    definitions: tuple[Definition, ...]


def kernel_source(
    template: str,
    name: str,
    pragmas: str,
    sections: Iterable[Section],
    names: Mapping[str, object],
    instructions: Path | None = None,
) -> str:
    """Put a kernel's source together: its name, the macros that it uses, and its template.

    Args:
        template: the file, from this folder on.
        name: of the kernel.
        pragmas: lines that come first.
        sections: the macros that the template may use.
        names: what the template asks for.
        instructions: a folder whose templates stand in for those of the same name.
    """
    body = _environment(instructions).get_template(template).render(names)
    sections = tuple(sections)
    used = _used(body, sections)
    parts = [f"{pragmas}/* {name} */\n"]
    for section in sections:
        lines = [f"#define {key} {value}\n" for key, value in section.definitions if key in used]
        if lines:
            parts.append(f"/* {section.about} */\n{''.join(lines)}")
    return "\n".join((*parts, body))


def _used(body: str, sections: Iterable[Section]) -> set[str]:
    """The macros, as they are defined, that a text uses, or that these use in turn."""
    values = {
        key.partition("(")[0]: (key, str(value))
        for section in sections
        for key, value in section.definitions
    }
    found: set[str] = set()
    code = "".join(text.partition("*/")[2] for text in f"*/{body}".split("/*"))
    asked = set(_MACRO.findall(code))
    while names := asked & values.keys():
        asked = set()
        for name in names:
            key, value = values.pop(name)
            found.add(key)
            asked |= _in_value(value)
    return found


@lru_cache(maxsize=4096)
def _in_value(value: str) -> frozenset[str]:
    return frozenset(_MACRO.findall(value))


@lru_cache(maxsize=8)
def _environment(instructions: Path | None) -> Environment:
    """The templates, each of which is read and compiled once."""
    environment = Environment(
        loader=FileSystemLoader([*([instructions] if instructions else []), _FOLDER]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # a source is no HTML
        auto_reload=False,
        cache_size=-1,
    )
    environment.filters |= {"continued": _continued, "deeper": _deeper}
    return environment


def _continued(text: str) -> str:
    """Lines of a macro, each of which says that another one follows."""
    *lines, last = text.rstrip("\n").split("\n")
    width = max(map(len, lines), default=0)
    return "".join(f"{line.ljust(width)} \\\n" for line in lines) + last + "\n"


def _deeper(text: str) -> str:
    """Statements of an inner block; lines of the preprocessor stay where they are."""
    return textwrap.indent(text, "    ", lambda line: bool(line.strip()) and line[0] != "#")
