"""Source templates: files with `@names@` to fill in, and folders of Jinja templates."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined


def fill(template: Path, values: Mapping[str, str]) -> str:
    """Return a template's text with every `@name@` replaced by its value.

    Values are not expanded again, so they may contain anything.

    Raises:
        KeyError: when the template has a name without a value.
    """
    text = template.read_text(encoding="utf-8")
    return re.sub(r"@(\w+)@", lambda match: values[match[1]], text)


def render(folder: Path, values: Mapping[str, object]) -> dict[str, str]:
    """Return the texts of all Jinja templates of a folder, by their paths in it; README.md first.

    Values are not expanded again, so they may contain anything.

    Raises:
        jinja2.UndefinedError: when a template has a name without a value.
    """
    templates = _templates(folder)
    names = sorted(templates.list_templates(), key=lambda name: (name != "README.md", name))
    return {name: templates.get_template(name).render(values) for name in names}


@cache
def _templates(folder: Path) -> Environment:
    return Environment(
        loader=FileSystemLoader(folder),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
