"""Writes selectors with their kernels as a library in another language."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from mltune.callable_package import make_callable

if TYPE_CHECKING:
    from mltune.export.writer import SetWriter, Writer


_Kind = TypeVar("_Kind")


class _Writers(Mapping[str, _Kind], Generic[_Kind]):
    """Imports a writer when it is looked up, so that listing the names imports none."""

    def __init__(self, classes: Mapping[str, str]) -> None:
        self._classes = classes

    def __getitem__(self, name: str) -> _Kind:
        writer: _Kind = _make(self._classes[name])
        return writer

    def __iter__(self) -> Iterator[str]:
        return iter(self._classes)

    def __len__(self) -> int:
        return len(self._classes)


@cache
def _make(path: str) -> Any:
    module, _, name = path.partition(":")
    return getattr(importlib.import_module(module), name)()


WRITERS: Mapping[str, Writer] = _Writers(
    {
        "c": "mltune.export.c.c_writer:CWriter",
        "python": "mltune.export.python.python_writer:PythonWriter",
        "rust": "mltune.export.rust.rust_writer:RustWriter",
        "json": "mltune.export.json_writer:JsonWriter",
    }
)
"""The export languages of a single selector by name."""

SET_WRITERS: Mapping[str, SetWriter] = _Writers(
    {
        "c": "mltune.export.c.set_writer:CSetWriter",
        "clblast": "mltune.export.c.clblast_writer:ClblastWriter",
    }
)
"""The export languages of several selectors by name."""

WITHOUT_HALF = frozenset({"rust"})
"""The languages that have no half precision."""

LANGUAGES = tuple(dict.fromkeys((*WRITERS, *SET_WRITERS)))

__all__ = ["LANGUAGES", "SET_WRITERS", "WITHOUT_HALF", "WRITERS"]

make_callable(__name__)
