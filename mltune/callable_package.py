"""Lets a package be called: `mltune.distil(run)` and `import mltune.distil` share a name."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any

_INTERFACE = "mltune.workflow.python"


class _Callable(ModuleType):
    def __call__(self, *given: Any, **named: Any) -> Any:
        function = getattr(importlib.import_module(_INTERFACE), self.__name__.rpartition(".")[2])
        return function(*given, **named)


def make_callable(package: str) -> None:
    """Have a call of a package do what the Python interface's function of its name does."""
    sys.modules[package].__class__ = _Callable
