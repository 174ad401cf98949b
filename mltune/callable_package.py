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
    """Let a call of a package run the Python interface's function of the same name."""
    sys.modules[package].__class__ = _Callable
