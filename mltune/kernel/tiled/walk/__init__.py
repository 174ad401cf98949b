"""Work-groups that walk over C: as many as a device has room for, each with many macro tiles."""

from mltune.kernel.tiled.walk.walk import Walk

__all__ = ["Walk"]
