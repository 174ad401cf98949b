"""The text of a family's OpenCL C templates."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from string import Template


def fill(file: Path, **names: str | int) -> str:
    """Put names into a template, which is read from its file once."""
    return _read(file).substitute(names)


@cache
def _read(file: Path) -> Template:
    return Template(file.read_text(encoding="utf-8"))


def defines(definitions: tuple[tuple[str, str | int], ...]) -> str:
    """Write macros, one a line."""
    return "".join(f"#define {name} {value}\n" for name, value in definitions)
