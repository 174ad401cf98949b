"""Lets a package be called: `mltune.distil(run)` and `import mltune.distil` share a name."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

_INTERFACE = "mltune.workflow.python"


class _Callable(ModuleType):
    def __call__(self, *given: Any, **named: Any) -> Any:
        return self._function(*given, **named)

    def __reduce__(self) -> tuple[Any, ...]:
        return importlib.import_module, (self.__name__,)  # for pools of processes, as a function's

    @property
    def _function(self) -> Callable[..., Any]:
        function: Callable[..., Any] = getattr(
            importlib.import_module(_INTERFACE), self.__name__.rpartition(".")[2]
        )
        return function

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(self._function)

    @property
    def __doc__(self) -> str | None:  # type: ignore[override]  # for `help` and notebooks
        return self._function.__doc__


def make_callable(package: str) -> None:
    """Let a call of a package run the Python interface's function of the same name."""
    sys.modules[package].__class__ = _Callable
