"""The text of a family's OpenCL C templates."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from string import Template

Definition = tuple[str, int | str]
"""A macro's name, with what stands in brackets behind it, and its value."""


def fill(file: Path, **names: str | int) -> str:
    """Put names into a template, which is read from its file once."""
    return _read(file).substitute(names)


@cache
def _read(file: Path) -> Template:
    return Template(file.read_text(encoding="utf-8"))


def deeper(text: str) -> str:
    """Statements of an inner block; lines of the preprocessor stay where they are."""
    return textwrap.indent(text, "    ", lambda line: bool(line.strip()) and line[0] != "#")


def kernel_source(
    name: str, pragmas: str, definitions: Iterable[Definition], parts: Iterable[str]
) -> str:
    """Put a kernel's source together: its name, its macros, and the filled templates."""
    defines = "".join(f"#define {key} {value}\n" for key, value in definitions)
    return f"{pragmas}/* {name} */\n{defines}\n" + "\n".join(parts)
