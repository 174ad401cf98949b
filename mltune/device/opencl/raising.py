"""A driver's errors, raised as those of `mltune.device.errors`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pyopencl as cl

from mltune.errors import MltuneError


@contextmanager
def raising(kind: type[MltuneError], said: str) -> Iterator[None]:
    """Raise the driver's error as one of a kind, whose message begins with what is said."""
    try:
        yield
    except cl.Error as error:
        raise kind(f"{said}: {error}") from error
