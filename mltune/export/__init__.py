"""Writes a selector with its kernels as a library in another language."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, cast

from mltune.callable_package import make_callable

if TYPE_CHECKING:
    from mltune.export.writer import Writer

_CLASSES = {
    "c": "mltune.export.c.c_writer:CWriter",
    "python": "mltune.export.python.python_writer:PythonWriter",
    "rust": "mltune.export.rust.rust_writer:RustWriter",
    "json": "mltune.export.json_writer:JsonWriter",
}


class _Writers(Mapping[str, "Writer"]):
    """Loads a writer when it is looked up, so that the names alone cost nothing."""

    def __getitem__(self, name: str) -> Writer:
        return _make(_CLASSES[name])

    def __iter__(self) -> Iterator[str]:
        return iter(_CLASSES)

    def __len__(self) -> int:
        return len(_CLASSES)


@cache
def _make(path: str) -> Writer:
    module, _, name = path.partition(":")
    return cast("Writer", getattr(importlib.import_module(module), name)())


WRITERS: Mapping[str, Writer] = _Writers()
"""The export languages by name."""

__all__ = ["WRITERS"]

make_callable(__name__)
