"""Descriptions as GEMMbench's files: JSON, with the source beside it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from mltune.kernel.handwritten.description import GEMMBENCH_ARGUMENTS, Description

_PLAIN = {
    "order": "row",
    "arguments": list(GEMMBENCH_ARGUMENTS),
    "multiples": {"M": 0, "N": 0, "K": 0},
    "local_sizes": [],
    "build_options": [],
}
"""GEMMbench's own values, which its files do not contain."""


def to_files(descriptions: Iterable[Description]) -> Iterator[tuple[str, str]]:
    """Yield names and texts of the files, which `read_files` reads back."""
    for description in descriptions:
        fields = description.to_json()
        source = fields.pop("source")
        said = {key: value for key, value in fields.items() if value != _PLAIN.get(key)}
        file = f"{description.name}.cl"
        text = json.dumps({"name": said.pop("name"), "file": file, **said}, indent=4)
        yield f"{description.name}.json", text + "\n"
        yield file, source
