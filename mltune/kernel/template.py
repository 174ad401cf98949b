"""The text of a family's OpenCL C templates."""

from __future__ import annotations

from pathlib import Path
from string import Template


def fill(file: Path, **names: str | int) -> str:
    """Read a template and put its names in."""
    return Template(file.read_text(encoding="utf-8")).substitute(names)


def defines(definitions: tuple[tuple[str, str | int], ...]) -> str:
    """Write macros, one a line."""
    return "".join(f"#define {name} {value}\n" for name, value in definitions)
