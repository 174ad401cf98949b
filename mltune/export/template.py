"""Source templates: files with `@names@` to fill in."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path


def fill(template: Path, values: Mapping[str, str]) -> str:
    """Return a template's text with every `@name@` replaced by its value.

    What a value holds is not looked at again, so it may contain anything.

    Raises:
        KeyError: when the template names something that has no value.
    """
    text = template.read_text(encoding="utf-8")
    return re.sub(r"@(\w+)@", lambda match: values[match[1]], text)
