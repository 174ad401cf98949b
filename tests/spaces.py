"""The shipped spaces, for tests that bind each of them."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from _pytest.mark import ParameterSet

from mltune.resources import data_folder

SHIPPED = sorted(path.stem for path in data_folder("spaces").glob("*.yaml"))

_LARGEST = "tiled-nvidia"


def each_of(names: Iterable[str]) -> list[str | ParameterSet]:
    """Names as parameters of a test; the largest space is `long`, as binding it takes a second."""
    return [
        pytest.param(name, marks=pytest.mark.long) if name == _LARGEST else name for name in names
    ]
